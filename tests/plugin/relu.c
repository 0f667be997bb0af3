/* One operator in C, which needs a stream. */
#include <diopi/functions.h>

#include "device.h"

diopiError_t diopiRelu(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    void* to = 0;
    const void* from = 0;
    int64_t numel = 0;
    diopiDtype_t dtype;
    diopiStreamHandle_t stream = 0;
    diopiGetTensorData(out, &to);
    diopiGetTensorDataConst(input, &from);
    diopiGetTensorNumel(input, &numel);
    diopiGetTensorDtype(input, &dtype);
    diopiGetStream(ctx, &stream);
    if (stream == 0) return diopiErrorOccurred;
    if (dtype != diopi_dtype_float32) return diopiDtypeNotSupported;
    for (int64_t i = 0; i < numel; ++i) {
        const float x = ((const float*)to_host(from))[i];
        ((float*)to_host(to))[i] = x < 0 ? 0 : x;
    }
    return diopiSuccess;
}

diopiError_t diopiReluInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) { return diopiRelu(ctx, input, input); }
