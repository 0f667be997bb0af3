// A library with two faults, for scripts/gpu_check.py: compute-sanitizer's results for other libraries count only if it
// finds these.
#include <cstdint>

#include <diopi/functions.h>

namespace {

constexpr int kThreads = 256;

/// Writes 4 KiB past the end of out, and reads values that other warps write, without waiting for them.
__global__ void planted(float* out, int64_t numel) {
    __shared__ volatile float places[kThreads];
    places[threadIdx.x] = static_cast<float>(threadIdx.x);
    const float other = places[(threadIdx.x + 32) % kThreads];
    for (int64_t i = threadIdx.x; i < 1024; i += kThreads) out[numel + i] = other;
}

}  // namespace

extern "C" diopiError_t diopiRelu(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    diopiStreamHandle_t stream = nullptr;
    void* data = nullptr;
    int64_t numel = 0;
    diopiGetStream(ctx, &stream);
    diopiGetTensorData(out, &data);
    diopiGetTensorNumel(input, &numel);
    planted<<<1, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(static_cast<float*>(data), numel);
    return cudaGetLastError() == cudaSuccess ? diopiSuccess : diopiErrorOccurred;
}
