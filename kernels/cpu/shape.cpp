/// cat and flip: kernels that move elements and compute nothing.
#include <algorithm>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/view.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/shape.hpp"

namespace diopi::cpu {

namespace {

diopiError_t cat(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t out, diopiConstTensorHandle_t* tensors,
                 int64_t num_inputs, int64_t dim) {
    Cat cat;
    const diopiError_t error = read_cat(op, out, tensors, num_inputs, dim, cat);
    if (error != diopiSuccess || cat.out.numel == 0) return error;
    return cat.for_each_part([](const View& from, const View& part) {
        copy(from, part);
        return diopiSuccess;
    });
}

diopiError_t flip(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                  diopiConstTensorHandle_t input, diopiSize_t dims) {
    const View to = view(out);
    View from = view(input);
    if (const diopiError_t error = check_rank(op, "input", to); error != diopiSuccess) return error;
    if (to.data != nullptr && to.data == from.data && std::ranges::equal(to.shape, from.shape)) {
        View other;
        if (const diopiError_t error = require(ctx, from.shape, to.dtype, other); error != diopiSuccess) return error;
        copy(from, other);
        from = other;
    }
    Flipped flipped;
    const diopiError_t error = read_flip(op, to, from, list_of(dims), flipped);
    if (error == diopiSuccess) copy(flipped.view, to);
    return error;
}

}  // namespace

#include "kernels/entries/shape.inc"

}  // namespace diopi::cpu
