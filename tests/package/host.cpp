// A host that asks the installed library for its version through the C ABI.
#include <diopi/diopirt.h>

#include <cstdio>
#include <cstring>

int main() {
    if (std::strcmp(diopiGetVersion(), "1.0.0") != 0) return 1;
    std::printf("runtime %s\n", diopiGetVersion());
    return 0;
}
