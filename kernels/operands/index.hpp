/// Indices that functions return or take, and the checks of embeddings and masks. Shared by the backends cpu and cuda.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "kernels/operands/view.hpp"

namespace diopi::operands {

[[nodiscard]] inline bool is_index(Dtype dtype) { return dtype == Dtype::int64 || dtype == Dtype::int32; }

/// Whether indices below `count` fit.
[[nodiscard]] inline bool holds_indices(Dtype dtype, int64_t count) {
    return dtype == Dtype::int64 || count - 1 <= std::numeric_limits<int32_t>::max();
}

/// Refuses a table without two dimensions, an out of another dtype or without a row for each index, and indices that
/// are not int32 or int64.
[[nodiscard]] diopiError_t check_embedding(std::string_view op, const View& out, const View& weight,
                                           const View& indices);
/// The same for the gradient `out` of a table of num_weights rows.
[[nodiscard]] diopiError_t check_embedding_gradient(std::string_view op, const View& out, const View& grad,
                                                    const View& indices, int64_t num_weights, bool sparse);

/// Refuses a mask that is not bool, and a value that is not one number.
[[nodiscard]] diopiError_t check_masked(std::string_view op, const View& mask, const View& value);

}  // namespace diopi::operands
