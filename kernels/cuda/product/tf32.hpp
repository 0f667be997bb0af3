/// TF32: float32 products whose factors tensor cores round to 10 bits after the point.
#pragma once

#include "core/dtype.hpp"

namespace diopi::cuda {

/// Sets whether the following float32 products and convolutions of this thread round their factors to TF32. The default
/// is to round them if the environment has DIOPI_TF32=1.
void use_tf32(bool use);

/// Whether products of that dtype use TF32.
[[nodiscard]] bool is_in_tf32(Dtype dtype);

}  // namespace diopi::cuda
