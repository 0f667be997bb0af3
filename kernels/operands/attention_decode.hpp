/// The arguments of the steps of a generation beside attention and sampling, checked. Shared by the backends cpu and
/// cuda.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/operands/view.hpp"

namespace diopi::operands {

/// Refuses a tensor that is not bool with `count` elements.
[[nodiscard]] diopiError_t check_flags(std::string_view op, std::string_view argument, const View& v, int64_t count);
/// Refuses a tensor that does not have `count` integers.
[[nodiscard]] diopiError_t check_integers(std::string_view op, std::string_view argument, const View& v, int64_t count);
/// Refuses tensors that are not the tokens (steps, batch), the lengths of `batch` prompts, and (batch, room).
[[nodiscard]] diopiError_t check_gathered(std::string_view op, const View& output_ids, const View& ids,
                                          const View& context_length, int64_t batch, int64_t steps, int64_t room);
/// Refuses a table of embeddings whose rows are not `width` wide, and an out that is not `count` of its rows.
[[nodiscard]] diopiError_t check_looked_up(std::string_view op, const View& from_tensor, const View& table,
                                           int64_t count, int64_t width);

}  // namespace diopi::operands
