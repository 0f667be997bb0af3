/// TF32: float32 whose factors tensor cores round to 10 bits behind the point.
#pragma once

#include "core/dtype.hpp"

namespace diopi::cuda {

/// From now on float32 products and convolutions of this thread are computed of factors in TF32, or not. A thread that
/// was told nothing does so where the environment has DIOPI_TF32=1.
void use_tf32(bool use);

/// Whether products of that dtype are.
[[nodiscard]] bool is_in_tf32(Dtype dtype);

}  // namespace diopi::cuda
