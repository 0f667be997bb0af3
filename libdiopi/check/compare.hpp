/// Compares the outputs of an operator with those of the float64 reference, by accuracy class (docs/accuracy.md).
#pragma once

#include "check/bound.hpp"
#include "check/comparison.hpp"
#include "core/tensor.hpp"

namespace diopi {

/// Compares `actual` (host memory, any strides, its own dtype) with `expected`.
/// `expected`: host, contiguous; float64 for floating outputs (the unrounded oracle), int64 for integers, complex128,
/// bool for bool. `spec` is the shape and dtype that the output must have.
/// `magnitude`: class D: S = sum of |terms| per element; class E: the error bound of each element, not finite where
/// there is none; class B: an error that is allowed beside the rounding. float64, same shape; null otherwise, and for
/// class E where the least that it can be is enough.
[[nodiscard]] Comparison compare(const Tensor& actual, const Tensor& expected, const TensorSpec& spec,
                                 const Bound& bound, const Tensor* magnitude,
                                 OnMismatch on_mismatch = OnMismatch::kExplain);

/// Adds a passed comparison of one part of an output to that of its other parts; `all` is new before the first one.
void join(Comparison& all, const Comparison& part);

}  // namespace diopi
