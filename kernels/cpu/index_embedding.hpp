/// Rows of a table by their numbers.
#pragma once

#include <string_view>

#include "kernels/cpu/view.hpp"

namespace diopi::cpu {

/// out[i] = table[indices[i]]: `table` has two dims, `out` the shape of `indices` followed by the size of a row, and
/// both one dtype. Refuses a number that is not one of a row, and names the argument that holds it.
[[nodiscard]] diopiError_t look_up_rows(diopiContextHandle_t ctx, std::string_view op, const View& out, View table,
                                        std::string_view argument, const View& indices);

}  // namespace diopi::cpu
