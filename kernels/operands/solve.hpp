/// Batches of matrices for distances, decompositions and systems of equations, and the checks of their arguments.
/// Shared by the backends.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "kernels/operands/view.hpp"

namespace diopi::operands {

/// The matrices of two tensors, whose leading dimensions broadcast to `batch`; entry k is the number of its matrix in
/// each tensor.
struct MatrixPairs {
    Shape batch;
    std::vector<int64_t> first, second;

    [[nodiscard]] int64_t count() const { return static_cast<int64_t>(first.size()); }
};

/// The dimensions before the last two.
[[nodiscard]] ShapeView batch_of(const View& v);
/// The shape of a batch of matrices.
[[nodiscard]] Shape matrices(ShapeView batch, int64_t rows, int64_t columns);
/// The size of the dimension that is `behind` ones before the last.
[[nodiscard]] int64_t size_from_back(const View& v, size_t behind);

/// Refuses tensors without two dimensions, and dtypes other than that of the first one or not computable.
[[nodiscard]] diopiError_t check_matrices(std::string_view op,
                                          std::initializer_list<std::pair<std::string_view, View>> tensors);
/// The same, and matrices that are not square.
[[nodiscard]] diopiError_t check_square(std::string_view op, std::string_view argument, const View& v);
/// Refuses batches that do not broadcast.
[[nodiscard]] diopiError_t pair_matrices(std::string_view op, const View& a, const View& b, MatrixPairs& pairs);

}  // namespace diopi::operands
