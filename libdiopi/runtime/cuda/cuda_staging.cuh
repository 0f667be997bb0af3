/// Copies between the host's memory and a GPU's through pinned memory. Only for sources that are built with CUDA.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <mutex>

namespace diopi {

/// Two pinned buffers used in turn: the host fills or empties one while the device works on the other. The first copy
/// allocates them, for the life of the process. Several threads may use them, one copy at a time.
class CudaStaging {
 public:
    /// Returns when all of `src` has been read; the copy takes place in the stream's order.
    [[nodiscard]] cudaError_t to_device(cudaStream_t stream, void* dst, const void* src, size_t nbytes);
    /// Returns when `dst` is complete, which waits for the stream's earlier work.
    [[nodiscard]] cudaError_t to_host(cudaStream_t stream, void* dst, const void* src, size_t nbytes);

 private:
    struct Buffer {
        void* memory = nullptr;
        cudaEvent_t is_free = nullptr;  ///< the device's last work on it is done
    };

    [[nodiscard]] cudaError_t make_ready(Buffer& buffer);

    std::mutex mutex_;
    std::array<Buffer, 2> buffers_;
};

}  // namespace diopi
