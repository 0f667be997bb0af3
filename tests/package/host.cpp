// A host that asks the installed library for its version and the size of a dtype through the C ABI.
#include <diopi/diopirt.h>
#include <diopi/functions.h>

#include <cstdio>
#include <cstring>

int main() {
    if (std::strcmp(diopiGetVersion(), "1.0.0") != 0) return 1;
    diopiGeneratorHandle_t none = nullptr;
    (void)none;
    std::printf("runtime %s\n", diopiGetVersion());
    return 0;
}
