/// Terms of a sum in the oracle's wide dtypes, contiguous, as a bound of its errors takes them.
#pragma once

#include "core/tensor.hpp"

namespace diopi {

/// Replaces numbers by their magnitudes.
void drop_signs(const Tensor& tensor);
/// An infinite term decides a sum; this leaves the other terms, which may overflow against it. For magnitudes.
void drop_infinities(const Tensor& tensor);
/// Numbers that are denormal in float32 become 0. For magnitudes.
void flush_denormals(const Tensor& tensor);

}  // namespace diopi
