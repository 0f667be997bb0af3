/// Outputs that the standard leaves open: the places of equal elements, the order of the elements of topk that is not
/// sorted, and the factors of a matrix (factors_law.hpp). Every valid choice is brought into the form of the expected
/// one, so that a comparison accepts it; no other is.
#pragma once

#include "call/call.hpp"
#include "core/status.hpp"

namespace diopi {

/// Whether results may differ and be right at this output of the call.
[[nodiscard]] bool is_open(const Call& call, size_t arg);

/// `actual` and `expected`, results of an open output, in a form in which they are equal if both are valid: where
/// `actual` has the place of an element that equals the expected one, and has it once, it gets the expected place. A
/// place that it has twice becomes -1. Rows without an order are sorted. The tensors are contiguous, as is the call's
/// input, in host memory.
[[nodiscard]] Status settle(const Call& call, size_t arg, TensorPtr& actual, TensorPtr& expected);

/// The first element of `values` that is not the one at its place in the input, or that the factors Q and R do not give
/// the matrix, as a message; empty if there is none. For calls whose rows have no order, and for factors; otherwise the
/// comparisons of both outputs show it.
[[nodiscard]] std::string wrong_pair(const Call& call, const Tensor& values, const Tensor& places);

}  // namespace diopi
