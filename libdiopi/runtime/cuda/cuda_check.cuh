/// How calls of the CUDA runtime are checked. Only for sources that are built with CUDA.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "core/status.hpp"

namespace diopi {

/// "copying 16 bytes to the device: invalid argument (cudaErrorInvalidValue)".
[[nodiscard]] inline std::string cuda_error_text(std::string_view doing, cudaError_t error) {
    std::string text(doing);
    return text.append(": ").append(cudaGetErrorString(error)).append(" (").append(cudaGetErrorName(error)) + ")";
}

/// Also clears the thread's last error, so that the next launch is not blamed for it; an error of the device as a whole
/// stays, and every later call of the process fails.
[[nodiscard]] inline Status cuda_status(std::string_view doing, cudaError_t error) {
    if (error == cudaSuccess) return {};
    (void)cudaGetLastError();
    return failed("cuda: " + cuda_error_text(doing, error));
}

}  // namespace diopi
