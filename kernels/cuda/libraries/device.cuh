/// The device that the calling thread works on. Only for sources that are built with CUDA.
#pragma once

#include <cuda_runtime_api.h>

namespace diopi::cuda {

[[nodiscard]] inline int current_device() {
    int device = 0;
    (void)cudaGetDevice(&device);  // if it fails, the library's next call fails, too
    return device;
}

}  // namespace diopi::cuda
