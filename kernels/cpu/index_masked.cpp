/// One value where a mask says so: where with a number in the dtype of input.
#include "kernels/cpu/choose.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/operands/index.hpp"

namespace diopi::cpu {

namespace {

diopiError_t fill_masked(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, diopiConstTensorHandle_t mask, const View& value) {
    const View x = view(input), is = view(mask);
    if (const diopiError_t error = check_masked(op, is, value); error != diopiSuccess) return error;
    alignas(16) std::byte bytes[16]{};
    const View converted = element(bytes, x.dtype);
    copy(value, converted);
    return choose(ctx, op, view(out), is, converted, x);
}

diopiError_t fill_masked(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, diopiConstTensorHandle_t mask, diopiScalar_t value) {
    return fill_masked(ctx, op, out, input, mask, element(value));
}

}  // namespace

diopiError_t diopiMaskedFill(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                             diopiConstTensorHandle_t mask, diopiConstTensorHandle_t value) {
    return fill_masked(ctx, __func__, out, input, mask, view(value));
}

diopiError_t diopiMaskedFillInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, diopiConstTensorHandle_t mask,
                                diopiConstTensorHandle_t value) {
    return fill_masked(ctx, __func__, input, input, mask, view(value));
}

diopiError_t diopiMaskedFillScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                   diopiConstTensorHandle_t mask, const diopiScalar_t* value) {
    return fill_masked(ctx, __func__, out, input, mask, *value);
}

diopiError_t diopiMaskedFillInpScalar(diopiContextHandle_t ctx, diopiTensorHandle_t input,
                                      diopiConstTensorHandle_t mask, const diopiScalar_t* value) {
    return fill_masked(ctx, __func__, input, input, mask, *value);
}

}  // namespace diopi::cpu
