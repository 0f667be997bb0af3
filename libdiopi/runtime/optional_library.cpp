#include "runtime/optional_library.hpp"

#include <dlfcn.h>

namespace diopi {

Result<OptionalLibrary> OptionalLibrary::open(const std::string& name, const std::string& advice) {
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return OptionalLibrary(handle, name);
    const char* reason = dlerror();
    return bad_input(name + " cannot be opened: " + (reason == nullptr ? "no reason given" : reason) + "; " + advice);
}

Result<void*> OptionalLibrary::address(const char* name) const {
    void* found = dlsym(handle_, name);
    if (found != nullptr) return found;
    return bad_input(name_ + " has no function " + name + ": it is older than what this program was built for");
}

}  // namespace diopi
