/// The device functions of the exported library of the cuda kernels. If no GPU can be used, initLibrary gives the
/// reason.
#include <cuda_runtime_api.h>
#include <diopi/device_functions.h>
#include <diopi/functions.h>

#include <string>

#include "runtime/context.hpp"
#include "runtime/cuda/cuda_check.cuh"

namespace {

diopiError_t checked(std::string_view doing, cudaError_t error) {
    const diopi::Status status = diopi::cuda_status(doing, error);
    if (status.ok()) return diopiSuccess;
    diopi::set_last_error(status.message());
    return diopiErrorOccurred;
}

cudaStream_t native(diopiStreamHandle_t stream) { return static_cast<cudaStream_t>(stream); }

diopiError_t copy(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes, cudaMemcpyKind kind) {
    return checked("copying " + std::to_string(bytes) + " bytes",
                   cudaMemcpyAsync(dst, src, bytes, kind, native(stream)));
}

}  // namespace

extern "C" {

void* device_malloc(uint64_t bytes) {
    void* memory = nullptr;
    const diopiError_t error = checked("allocating " + std::to_string(bytes) + " bytes", cudaMalloc(&memory, bytes));
    return error == diopiSuccess ? memory : nullptr;
}

void device_free(void* memory) { (void)checked("freeing memory", cudaFree(memory)); }

diopiError_t device_memcpy_h2d_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    return copy(stream, dst, src, bytes, cudaMemcpyHostToDevice);
}

diopiError_t device_memcpy_d2h_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    return copy(stream, dst, src, bytes, cudaMemcpyDeviceToHost);
}

diopiError_t device_memcpy_d2d_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    return copy(stream, dst, src, bytes, cudaMemcpyDeviceToDevice);
}

diopiError_t device_make_stream(diopiStreamHandle_t* stream) {
    cudaStream_t made = nullptr;
    const diopiError_t error = checked("creating a stream", cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
    *stream = made;
    return error;
}

diopiError_t device_destroy_stream(diopiStreamHandle_t stream) {
    return checked("destroying a stream", cudaStreamDestroy(native(stream)));
}

diopiError_t device_synchronize_stream(diopiStreamHandle_t stream) {
    return checked("waiting for a stream", cudaStreamSynchronize(native(stream)));
}

diopiError_t initLibrary() {
    int count = 0;
    return checked("looking for a GPU", cudaGetDeviceCount(&count));
}

diopiError_t finalizeLibrary() { return diopiSuccess; }

}  // extern "C"
