/// TF32: float32 products whose factors tensor cores round to 10 bits after the point.
#pragma once

#include "core/dtype.hpp"

namespace diopi::cuda {

/// From now on float32 products and convolutions of this thread use factors in TF32, or not. By default a thread does
/// so if the environment has DIOPI_TF32=1.
void use_tf32(bool use);

/// Whether products of that dtype use TF32.
[[nodiscard]] bool is_in_tf32(Dtype dtype);

}  // namespace diopi::cuda
