/// The arguments of functions that change logits before a token is drawn, checked. Shared by the backends cpu and cuda.
#pragma once

#include <initializer_list>
#include <string_view>

#include "kernels/operands/norm.hpp"
#include "kernels/operands/view.hpp"

namespace diopi::operands {

/// Refuses logits that are not floating and (rows, columns).
[[nodiscard]] diopiError_t check_logits(std::string_view op, const View& logits);
[[nodiscard]] diopiError_t check_logits(std::string_view op, const View& logits, int64_t rows, int64_t columns);
/// Refuses tensors that are not floating with `count` elements; null is allowed.
[[nodiscard]] diopiError_t check_floats(std::string_view op, std::initializer_list<NamedArgument> arguments,
                                        int64_t count);
/// The same for integers.
[[nodiscard]] diopiError_t check_counts(std::string_view op, std::initializer_list<NamedArgument> arguments,
                                        int64_t count);

}  // namespace diopi::operands
