/// Results of diopiUnique. Without `sorted` the distinct elements have any order, and the other outputs follow it;
/// among NaNs, each of which is an element of its own, every order is right.
#pragma once

#include <string>

#include "call/call.hpp"
#include "core/status.hpp"

namespace diopi {

/// Whether results may differ and be right at this output of the call.
[[nodiscard]] bool is_open_distinct(const Call& call, size_t arg);

/// Brings `actual` and `expected`, results of an open output, into a form in which they are equal if both are valid:
/// distinct elements and their numbers are sorted, positions are counted in the order in which they occur first.
[[nodiscard]] Status settle_distinct(const Call& call, size_t arg, TensorPtr& actual, TensorPtr& expected);

/// The first contradiction between the distinct elements and the other results, as a message; empty if there is none:
/// an element of the input is not the one at its position, or a number is not that of its element. indices and counts
/// may be null.
[[nodiscard]] std::string wrong_distinct(const Call& call, const Tensor& out, const Tensor* indices,
                                         const Tensor* counts);

}  // namespace diopi
