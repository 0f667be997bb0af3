/// relu of dense float32 tensors that breaks one rule of memory, chosen at compile time. Its device is device.c.
#include <diopi/functions.h>

#include <cstdlib>

#include "device.h"

namespace {

struct Vectors {
    float* out = nullptr;
    float* in = nullptr;
    int64_t numel = 0;
};

diopiError_t open_vectors(diopiTensorHandle_t out, diopiConstTensorHandle_t input, Vectors& v) {
    void* to = nullptr;
    const void* from = nullptr;
    diopiDtype_t dtype;
    diopiGetTensorDtype(input, &dtype);
    if (dtype != diopi_dtype_float32) return diopiDtypeNotSupported;
    diopiGetTensorData(out, &to);
    diopiGetTensorDataConst(input, &from);
    diopiGetTensorNumel(input, &v.numel);
    v.out = static_cast<float*>(to_host(to));
    v.in = static_cast<float*>(to_host(from));
    return diopiSuccess;
}

void break_rule([[maybe_unused]] diopiContextHandle_t ctx, [[maybe_unused]] const Vectors& v) {
#ifdef RULE_PAST_OUTPUT
    v.out[v.numel + 1] = 1;
#endif
#ifdef RULE_BEFORE_OUTPUT
    v.out[-1] = 1;
#endif
#ifdef RULE_PAST_INPUT
    v.in[v.numel] = 1;
#endif
#ifdef RULE_CONST_INPUT
    v.in[0] += 1;
#endif
#ifdef RULE_PAST_WORKSPACE
    diopiTensorHandle_t workspace = nullptr;
    void* memory = nullptr;
    diopiRequireBuffer(ctx, &workspace, 64, diopi_device);
    diopiGetTensorData(workspace, &memory);
    static_cast<char*>(to_host(memory))[64] = 1;
#endif
#ifdef RULE_READS_WORKSPACE
    diopiTensorHandle_t workspace = nullptr;
    void* memory = nullptr;
    diopiRequireBuffer(ctx, &workspace, 64, diopi_device);
    diopiGetTensorData(workspace, &memory);
    int& sum = *static_cast<int*>(to_host(memory));  // 0 in new memory, or left by another call
    v.out[0] += sum == 0 ? 0 : 1;
    sum = 0;
#endif
#ifdef RULE_KEEPS_DEVICE_MEMORY
    device_malloc(256);
#endif
#ifdef RULE_KEEPS_HOST_MEMORY
    static void* kept = nullptr;
    void** memory = static_cast<void**>(std::malloc(200));
    *memory = kept;
    kept = memory;
#endif
}

}  // namespace

extern "C" diopiError_t diopiRelu(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    Vectors v;
    const diopiError_t error = open_vectors(out, input, v);
    if (error != diopiSuccess) return error;
#ifdef RULE_UNWRITTEN
    const int64_t written = v.numel - 1;
#else
    const int64_t written = v.numel;
#endif
    for (int64_t i = 0; i < written; ++i) v.out[i] = v.in[i] < 0 ? 0 : v.in[i];
    break_rule(ctx, v);
    return diopiSuccess;
}

extern "C" diopiError_t diopiReluInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return diopiRelu(ctx, input, input);
}
