/// Kernel launches with error checks.
#pragma once

#include "kernels/cuda/element/launch.hpp"
#include "kernels/cuda/view.hpp"
#include "runtime/cuda/cuda_check.cuh"

namespace diopi::cuda {

/// The context's stream: every launch goes there.
[[nodiscard]] inline cudaStream_t stream_of(diopiContextHandle_t ctx) {
    diopiStreamHandle_t stream = nullptr;
    diopiGetStream(ctx, &stream);
    return static_cast<cudaStream_t>(stream);
}

/// Calls kernel(args...) on the context's stream. Returns whether the launch was accepted; errors of the kernel itself
/// appear at a later synchronisation.
template <class... Parameters, class... Args>
[[nodiscard]] diopiError_t launch(diopiContextHandle_t ctx, std::string_view op, const Launch& grid,
                                  void (*kernel)(Parameters...), const Args&... args) {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(grid.blocks);
    config.blockDim = dim3(grid.threads);
    config.stream = stream_of(ctx);
    const cudaError_t error = cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(args)...);
    if (error == cudaSuccess) return diopiSuccess;
    (void)cudaGetLastError();
    return fail(diopiErrorOccurred, cuda_error_text(std::string(op) + ": launching a kernel", error));
}

}  // namespace diopi::cuda
