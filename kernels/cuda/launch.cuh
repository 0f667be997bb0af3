/// Launches, checked.
#pragma once

#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/view.hpp"
#include "runtime/cuda_check.cuh"

namespace diopi::cuda {

/// The context's stream: every launch goes there.
[[nodiscard]] inline cudaStream_t stream_of(diopiContextHandle_t ctx) {
    diopiStreamHandle_t stream = nullptr;
    diopiGetStream(ctx, &stream);
    return static_cast<cudaStream_t>(stream);
}

/// Whether the launch just made was accepted; errors of the kernel itself come with a later synchronisation.
[[nodiscard]] inline diopiError_t launched(std::string_view op) {
    const cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) return diopiSuccess;
    return fail(diopiErrorOccurred, cuda_error_text(std::string(op) + ": launching a kernel", error));
}

}  // namespace diopi::cuda
