/// Three functions of a vendor for float32 and float64, any strides. RELU_OFFSET is an error of diopiRelu, and of
/// diopiReluInp, which calls it; HOST_MEMORY is for a library whose tensors are the host's.
#include <diopi/functions.h>

#include "device.h"

#ifndef RELU_OFFSET
#define RELU_OFFSET 0
#endif

namespace {

template <class T>
T* elements(void* data) {
#ifdef HOST_MEMORY
    return static_cast<T*>(data);
#else
    return static_cast<T*>(to_host(data));
#endif
}

template <class T, class Function>
void walk(T* out, const int64_t* out_strides, const T* in, const int64_t* in_strides, const int64_t* sizes,
          int64_t rank, Function function) {
    if (rank == 0) {
        *out = function(*in);
        return;
    }
    for (int64_t i = 0; i < *sizes; ++i) {
        walk(out + i * *out_strides, out_strides + 1, in + i * *in_strides, in_strides + 1, sizes + 1, rank - 1,
             function);
    }
}

template <class Function>
diopiError_t map(diopiTensorHandle_t out, diopiConstTensorHandle_t input, Function function) {
    void* to = nullptr;
    const void* from = nullptr;
    diopiSize_t sizes, out_strides, in_strides;
    diopiDtype_t dtype, out_dtype;
    int64_t numel = 0;
    diopiGetTensorData(out, &to);
    diopiGetTensorDataConst(input, &from);
    diopiGetTensorShape(input, &sizes);
    diopiGetTensorStride(out, &out_strides);
    diopiGetTensorStride(input, &in_strides);
    diopiGetTensorDtype(input, &dtype);
    diopiGetTensorDtype(out, &out_dtype);
    diopiGetTensorNumel(input, &numel);
    if (dtype != out_dtype) return diopiDtypeNotSupported;
    const auto run = [&](auto zero) {
        using T = decltype(zero);
        if (numel == 0) return diopiSuccess;
        walk(elements<T>(to), out_strides.data, elements<T>(const_cast<void*>(from)), in_strides.data, sizes.data,
             sizes.len, [&](T x) { return static_cast<T>(function(x)); });
        return diopiSuccess;
    };
    if (dtype == diopi_dtype_float32) return run(0.F);
    if (dtype == diopi_dtype_float64) return run(0.0);
    return diopiDtypeNotSupported;
}

}  // namespace

extern "C" {

const char* diopiGetVendorName() { return "plugin test"; }
const char* diopiGetImplVersion() { return "1"; }
const char* diopiGetLastErrorString() { return "the vendor's own words"; }

diopiError_t diopiRelu(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map(out, input, [](auto x) { return (x < 0 ? 0 : x) + RELU_OFFSET; });
}

diopiError_t diopiNeg(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map(out, input, [](auto x) { return -x; });
}

/// Calls diopiRelu through the dynamic linker.
diopiError_t diopiReluInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) { return diopiRelu(ctx, input, input); }

}  // extern "C"
