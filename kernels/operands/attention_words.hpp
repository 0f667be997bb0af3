/// Lists of words: sequences of tokens that end a generation, or that it must not produce. Shared by the backends cpu
/// and cuda.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/operands/view.hpp"

namespace diopi::operands {

/// Refuses dtypes other than integers.
[[nodiscard]] diopiError_t check_integers(std::string_view op, std::string_view argument, const View& v);
/// Refuses a table of tokens without `steps` rows and the columns first to first + batch.
[[nodiscard]] diopiError_t check_tokens(std::string_view op, std::string_view argument, const View& ids, int64_t steps,
                                        int64_t first, int64_t batch);
/// Refuses lists of words whose shape is not ([batch,] 2, length).
[[nodiscard]] diopiError_t check_words(std::string_view op, std::string_view argument, const View& lists, bool shared,
                                       int64_t batch, int64_t length);

}  // namespace diopi::operands
