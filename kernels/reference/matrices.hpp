/// Tensors as batches of matrices, whose leading dimensions broadcast.
#pragma once

#include <array>

#include "kernels/reference/operand.hpp"

namespace diopi::reference {

/// The dimensions before the matrix; refuses a tensor without rows and columns.
[[nodiscard]] inline ShapeView batch_of(ShapeView shape, std::string_view argument) {
    if (shape.size() < 2) refuse(std::string(argument) + " has shape " + to_string(shape) + ", wanted a matrix");
    return shape.first(shape.size() - 2);
}
/// The shape of such a batch.
[[nodiscard]] inline Shape matrices(ShapeView batch, int64_t rows, int64_t columns) {
    Shape shape(batch.begin(), batch.end());
    shape.insert(shape.end(), {rows, columns});
    return shape;
}
/// The side of square matrices; refuses others.
[[nodiscard]] inline int64_t side_of(ShapeView shape, std::string_view argument) {
    const ShapeView batch = batch_of(shape, argument);
    require_shape(argument, shape, matrices(batch, shape.back(), shape.back()));
    return shape.back();
}
/// The batch to which both broadcast.
[[nodiscard]] inline Shape common_batch(ShapeView a, ShapeView b) {
    auto both = broadcast_shapes(a, b);
    if (!both) refuse("the batches " + to_string(a) + " and " + to_string(b) + " do not broadcast");
    return std::move(*both);
}

/// Calls visit(numbers) for each matrix of the batch `wide`: its number in each of the N batches that broadcast to it.
template <size_t N, class Visit>
void for_each_matrix(ShapeView wide, const std::array<ShapeView, N>& batches, Visit&& visit) {
    std::array<Shape, N> strides;
    std::array<ShapeView, N> views;
    for (size_t k = 0; k < N; ++k) {
        strides[k] = broadcast_strides("a batch", batches[k], wide);
        views[k] = strides[k];
    }
    const Rows<N> rows(wide, views);
    rows.for_each([&](typename Rows<N>::Offsets at) {
        for (int64_t i = 0; i < rows.length(); ++i) {
            visit(at);
            for (size_t k = 0; k < N; ++k) at[k] += rows.step()[k];
        }
    });
}

/// Refuses integers and complex numbers.
inline void require_real(diopiConstTensorHandle_t tensor, std::string_view argument) {
    const Dtype dtype = view_of(tensor).dtype;
    if (kind_of(dtype) != Kind::kFloating) refuse_dtype(argument, dtype, "a floating dtype");
}

}  // namespace diopi::reference
