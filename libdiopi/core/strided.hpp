/// Walks over strided tensors in host memory.
#pragma once

#include "core/tensor.hpp"

namespace diopi {

/// Copies the elements of `from` to `to`: same shape, same element size, any strides.
void copy_strided(const Tensor& from, const Tensor& to);

/// Calls visit(offset, other_offset) for each element in row-major order, with its offsets in a view of these strides
/// and in one of `other_strides`, in elements and without the tensors' own offsets.
template <class Visit>
void for_each_offset_pair(ShapeView shape, ShapeView strides, ShapeView other_strides, Visit&& visit) {
    if (numel(shape) == 0) return;
    const size_t rank = shape.size();
    Shape index(rank, 0);
    int64_t offset = 0, other = 0;
    for (;;) {
        visit(offset, other);
        size_t d = rank;
        while (d > 0) {
            --d;
            offset += strides[d];
            other += other_strides[d];
            if (++index[d] < shape[d]) break;
            offset -= shape[d] * strides[d];
            other -= shape[d] * other_strides[d];
            index[d] = 0;
            if (d == 0) return;
        }
        if (rank == 0) return;
    }
}

/// Calls visit(offset) with the element offset (without the tensor's own offset) of each element in row-major order.
template <class Visit>
void for_each_offset(ShapeView shape, ShapeView strides, Visit&& visit) {
    for_each_offset_pair(shape, strides, strides, [&](int64_t offset, int64_t) { visit(offset); });
}

}  // namespace diopi
