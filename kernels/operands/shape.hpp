/// The arguments of functions that move elements or write constants, checked. Shared by the backends cpu and cuda.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "kernels/operands/refusal.hpp"
#include "kernels/operands/view.hpp"

namespace diopi::operands {

/// torch.cat passes over tensors of shape (0,), whatever the others' rank.
[[nodiscard]] inline bool is_passed_over(const View& v) { return v.rank() == 1 && v.shape[0] == 0; }

/// Tensors that fill `out` side by side along `dim`.
struct Cat {
    View out;
    std::span<const diopiConstTensorHandle_t> tensors;
    size_t dim = 0;

    /// Calls copy(tensor, its part of out) for each tensor.
    template <class Copy>
    [[nodiscard]] diopiError_t for_each_part(Copy&& copy) const {
        View part = out;
        for (const diopiConstTensorHandle_t tensor : tensors) {
            const View from = view(tensor);
            if (is_passed_over(from)) continue;
            part.shape = from.shape;
            part.numel = from.numel;
            if (const diopiError_t error = copy(from, std::as_const(part)); error != diopiSuccess) return error;
            part.data += from.shape[dim] * out.strides[dim] * out.item_size();
        }
        return diopiSuccess;
    }
};
/// Refuses a list without tensors, and tensors that do not fill out.
[[nodiscard]] diopiError_t read_cat(std::string_view op, diopiTensorHandle_t out,
                                    const diopiConstTensorHandle_t* tensors, int64_t num_inputs, int64_t dim, Cat& cat);

/// A view of input with some dimensions reversed.
struct Flipped {
    Shape strides;
    View view;  ///< borrows `strides`: neither may be moved
};
/// Refuses an out of another shape, and dimensions that do not exist or are named twice.
[[nodiscard]] diopiError_t read_flip(std::string_view op, const View& out, const View& input, ShapeView dims,
                                     Flipped& flipped);

/// Refuses a source that does not broadcast to `to`.
[[nodiscard]] diopiError_t check_source(std::string_view op, const View& from, const View& to);

/// Copies by a backend's kCopyInto(ctx, op, from, to), which broadcasts and converts.
template <auto kCopyInto>
[[nodiscard]] diopiError_t expand_by(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                                     diopiConstTensorHandle_t input) {
    return kCopyInto(ctx, op, view(input), view(out));
}
template <auto kCopyInto>
[[nodiscard]] diopiError_t copy_from_by(diopiContextHandle_t ctx, std::string_view op, diopiConstTensorHandle_t src,
                                        diopiTensorHandle_t dest) {
    return kCopyInto(ctx, op, view(src), view(dest));
}
/// Refuses an out of another shape.
template <auto kCopyInto>
[[nodiscard]] diopiError_t cast_by(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                                   diopiConstTensorHandle_t input) {
    const View to = view(out), from = view(input);
    const diopiError_t error = check_shape(op, "out", to, from.shape);
    return error != diopiSuccess ? error : kCopyInto(ctx, op, from, to);
}

/// Refuses an input without matrices, and an out that is not like it.
[[nodiscard]] diopiError_t check_triangle(std::string_view op, const View& out, const View& input);

/// Refuses a step that does not lead from start to end, and an out of another size than the steps need.
[[nodiscard]] diopiError_t check_steps(std::string_view op, const View& out, const diopiScalar_t& start,
                                       const diopiScalar_t& end, const diopiScalar_t& step);

}  // namespace diopi::operands
