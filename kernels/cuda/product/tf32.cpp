#include "kernels/cuda/product/tf32.hpp"

#include <cstdlib>
#include <string_view>

namespace diopi::cuda {

namespace {

/// The only setting for an exported library, whose host knows only the standard.
bool is_asked_for() {
    const char* value = std::getenv("DIOPI_TF32");
    return value != nullptr && std::string_view(value) == "1";
}

thread_local bool t_uses_tf32 = is_asked_for();

}  // namespace

void use_tf32(bool use) { t_uses_tf32 = use; }

bool is_in_tf32(Dtype dtype) { return dtype == Dtype::float32 && t_uses_tf32; }

}  // namespace diopi::cuda
