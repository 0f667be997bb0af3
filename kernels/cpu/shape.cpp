/// fill, cat, flip: kernels that move elements and compute nothing.
#include <algorithm>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/view.hpp"
#include "kernels/operands/shape.hpp"

namespace diopi::cpu {

diopiError_t diopiFill(diopiContextHandle_t, diopiTensorHandle_t input, const diopiScalar_t* value) {
    const View to = view(input);
    if (const diopiError_t error = check_rank(__func__, "input", to); error != diopiSuccess) return error;
    diopiScalar_t scalar = *value;
    alignas(16) std::byte bytes[16]{};
    const View converted = element(bytes, to.dtype);
    copy(element(scalar), converted);
    copy(converted, to);
    return diopiSuccess;
}

diopiError_t diopiCat(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t* tensors,
                      int64_t num_inputs, int64_t dim) {
    if (num_inputs < 1) return refuse(__func__, "no tensors, wanted one or more");
    const std::span list(tensors, static_cast<size_t>(num_inputs));
    const View to = view(out);
    if (const diopiError_t error = check_rank(__func__, "input", to); error != diopiSuccess) return error;
    if (const diopiError_t error = check_cat(__func__, to, list, dim); error != diopiSuccess) return error;
    if (to.numel == 0) return diopiSuccess;
    const auto d = static_cast<size_t>(dim);
    View part = to;
    for (const diopiConstTensorHandle_t tensor : list) {
        const View from = view(tensor);
        if (is_passed_over(from)) continue;
        part.shape = from.shape;
        part.numel = from.numel;
        copy(from, part);
        part.data += from.shape[d] * to.strides[d] * to.item_size();
    }
    return diopiSuccess;
}

diopiError_t diopiFlip(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                       diopiSize_t dims) {
    const View to = view(out);
    View from = view(input);
    if (const diopiError_t error = check_rank(__func__, "input", to); error != diopiSuccess) return error;
    if (to.data != nullptr && to.data == from.data && std::ranges::equal(to.shape, from.shape)) {
        View other;
        if (const diopiError_t error = require(ctx, from.shape, to.dtype, other); error != diopiSuccess) return error;
        copy(from, other);
        from = other;
    }
    Flipped flipped;
    const diopiError_t error = read_flip(__func__, to, from, list_of(dims), flipped);
    if (error == diopiSuccess) copy(flipped.view, to);
    return error;
}

}  // namespace diopi::cpu
