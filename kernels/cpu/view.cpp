#include "kernels/cpu/view.hpp"

namespace diopi::cpu {

diopiError_t contiguous_as(diopiContextHandle_t ctx, const View& from, Dtype dtype, View& made) {
    if (from.dtype == dtype && from.is_contiguous()) {
        made = from;
        return diopiSuccess;
    }
    View fresh;  // `made` may be `from`
    const diopiError_t error = require(ctx, from.shape, dtype, fresh);
    if (error != diopiSuccess) return error;
    copy(from, fresh);
    made = fresh;
    return diopiSuccess;
}

void fill(const View& tensor, diopiScalar_t number) {
    alignas(16) std::byte bytes[16];
    const View converted = element(bytes, tensor.dtype);
    copy(element(number), converted);
    copy(converted, tensor);
}

void fill(std::initializer_list<diopiTensorHandle_t> tensors, double number) {
    for (const diopiTensorHandle_t tensor : tensors) {
        if (tensor != nullptr) fill(view(tensor), {diopi_dtype_float64, {.fval = number}});
    }
}

}  // namespace diopi::cpu
