/// One value where a mask says so: where with a number in the dtype of input.
#include "kernels/cuda/choose.hpp"
#include "kernels/cuda/copy.hpp"
#include "kernels/cuda/operators.hpp"
#include "kernels/operands/index.hpp"
#include "kernels/operands/promotion.hpp"

namespace diopi::cuda {

namespace {

diopiError_t fill_masked(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out, const View& input,
                         diopiConstTensorHandle_t mask, const View& value, const diopiScalar_t& number) {
    const View is = view(mask);
    if (const diopiError_t error = check_masked(op, is, value); error != diopiSuccess) return error;
    return choose(ctx, op, view(out), is, value, input, input.dtype, number);
}

/// The value in the place of input's elements, in the dtype of input.
diopiError_t fill_masked(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, diopiConstTensorHandle_t mask,
                         diopiConstTensorHandle_t value) {
    const View x = view(input);
    View one = view(value);
    if (one.shape.empty()) {
        const diopiError_t error = contiguous_as(ctx, op, one, x.dtype, one);
        if (error != diopiSuccess) return error;
    }
    return fill_masked(ctx, op, out, x, mask, one, {});
}

diopiError_t fill_masked(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, diopiConstTensorHandle_t mask, const diopiScalar_t& value) {
    const View x = view(input);
    return fill_masked(ctx, op, out, x, mask, number_view(x.dtype), as_element(value, x.dtype));
}

}  // namespace

diopiError_t diopiMaskedFill(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                             diopiConstTensorHandle_t mask, diopiConstTensorHandle_t value) {
    return fill_masked(ctx, __func__, out, input, mask, value);
}

diopiError_t diopiMaskedFillInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, diopiConstTensorHandle_t mask,
                                diopiConstTensorHandle_t value) {
    return fill_masked(ctx, __func__, input, input, mask, value);
}

diopiError_t diopiMaskedFillScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                   diopiConstTensorHandle_t mask, const diopiScalar_t* value) {
    return fill_masked(ctx, __func__, out, input, mask, *value);
}

diopiError_t diopiMaskedFillInpScalar(diopiContextHandle_t ctx, diopiTensorHandle_t input,
                                      diopiConstTensorHandle_t mask, const diopiScalar_t* value) {
    return fill_masked(ctx, __func__, input, input, mask, *value);
}

}  // namespace diopi::cuda
