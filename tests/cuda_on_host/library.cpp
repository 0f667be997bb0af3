/// Opens CUDA's libraries: a build for a GPU uses the loader, this one has a table of replacements.
#include "tests/cuda_on_host/library.hpp"

#include "runtime/opened_library.hpp"

namespace diopi {

void* open_library(const char* soname, std::string& why) {
    for (const cuda_on_host::Library* library : {&cuda_on_host::cublaslt_library(), &cuda_on_host::cudnn_library()}) {
        if (library->soname == soname) return const_cast<cuda_on_host::Library*>(library);
    }
    why = "unknown on the host";
    return nullptr;
}

void* find_function(void* library, const char* name) {
    for (const auto& function : static_cast<const cuda_on_host::Library*>(library)->functions) {
        if (function.name == name) return function.address;
    }
    return nullptr;
}

}  // namespace diopi
