#include "runtime/opened_library.hpp"

#include <dlfcn.h>

namespace diopi {

void* open_library(const char* soname, std::string& why) {
    void* library = dlopen(soname, RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) why = dlerror();
    return library;
}

void* find_function(void* library, const char* name) { return dlsym(library, name); }

}  // namespace diopi
