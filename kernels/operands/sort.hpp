/// Rows along one dimension of several tensors, planned on the host.
#pragma once

#include <array>
#include <string_view>

#include "kernels/operands/view.hpp"

namespace diopi::operands {

/// A row of each tensor begins at offset(tensor, row) and goes on by strides[tensor], in elements.
struct AlongDim {
    int64_t rows = 1, n = 1;  ///< n: elements of a row of the input, the first tensor
    std::array<int64_t, 3> strides{};

    [[nodiscard]] int64_t offset(size_t tensor, int64_t row) const {
        int64_t at = 0;
        for (size_t d = rank; d-- > 0; row /= sizes[d]) at += row % sizes[d] * outer[tensor][d];
        return at;
    }

    size_t rank = 0;  ///< of what is left without the dimension
    std::array<int64_t, kMaxRank> sizes{};
    std::array<std::array<int64_t, kMaxRank>, 3> outer{};
};

/// Refuses a dim out of range, and results whose shape is not input's with `count` (-1: all) along dim.
[[nodiscard]] diopiError_t plan_along(std::string_view op, const View& input,
                                      std::initializer_list<const View*> results, int64_t dim, int64_t count,
                                      AlongDim& plan);

}  // namespace diopi::operands
