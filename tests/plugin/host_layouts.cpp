/// relu of dense float32 tensors and the sum of all elements, which refuse layouts of some hosts, chosen at compile
/// time. The device is device.c.
#include <diopi/functions.h>

#include "device.h"

namespace {

struct Vector {
    float* data = nullptr;
    diopiSize_t shape{}, strides{};
    int64_t numel = 0;
};

Vector vector_of(diopiConstTensorHandle_t tensor) {
    Vector vector;
    const void* data = nullptr;
    diopiGetTensorDataConst(tensor, &data);
    diopiGetTensorShape(tensor, &vector.shape);
    diopiGetTensorStride(tensor, &vector.strides);
    diopiGetTensorNumel(tensor, &vector.numel);
    vector.data = static_cast<float*>(to_host(data));
    return vector;
}

bool is_float32(diopiConstTensorHandle_t tensor) {
    diopiDtype_t dtype;
    diopiGetTensorDtype(tensor, &dtype);
    return dtype == diopi_dtype_float32;
}

/// The library's fault: refuses a valid layout.
bool refuses([[maybe_unused]] const Vector& vector) {
#ifdef REFUSES_EMPTY
    // It takes a stride of 0 for a repeated element in an empty tensor.
    for (int64_t d = 0; d < vector.shape.len && vector.numel == 0; ++d) {
        if (vector.strides.data[d] == 0) return true;
    }
#endif
#ifdef REFUSES_SINGLE
    // It accepts only these strides for a dense tensor.
    int64_t stride = 1;
    for (int64_t d = vector.shape.len; d-- > 0 && vector.numel > 0;) {
        if (vector.strides.data[d] != stride) return true;
        stride *= vector.shape.data[d];
    }
#endif
    return false;
}

}  // namespace

extern "C" {

diopiError_t diopiRelu(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    const Vector to = vector_of(out), from = vector_of(input);
    if (!is_float32(input)) return diopiDtypeNotSupported;
    if (refuses(to) || refuses(from)) return diopiErrorOccurred;
    for (int64_t i = 0; i < from.numel; ++i) to.data[i] = from.data[i] < 0 ? 0 : from.data[i];
    return diopiSuccess;
}

diopiError_t diopiSum(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input, diopiSize_t dim) {
    const Vector to = vector_of(out), from = vector_of(input);
    if (!is_float32(input) || !is_float32(out)) return diopiDtypeNotSupported;
    if (dim.len > 0) return diopiNoImplement;
#ifdef REFUSES_VECTOR
    if (to.shape.len != 0) return diopiErrorOccurred;
#endif
    double sum = 0;
    for (int64_t i = 0; i < from.numel; ++i) sum += from.data[i];
    *to.data = static_cast<float>(sum);
    return diopiSuccess;
}

}  // extern "C"
