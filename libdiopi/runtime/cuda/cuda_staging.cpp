#include "runtime/cuda/cuda_staging.cuh"

#include <algorithm>
#include <cstring>

namespace diopi {

namespace {

/// Large enough that a copy of that size runs at the bus's speed.
constexpr size_t kBufferBytes = size_t{4} << 20;

}  // namespace

cudaError_t CudaStaging::make_ready(Buffer& buffer) {
    if (buffer.memory == nullptr) {
        if (const cudaError_t e = cudaMallocHost(&buffer.memory, kBufferBytes); e != cudaSuccess) return e;
    }
    if (buffer.is_free == nullptr) {
        if (const cudaError_t e = cudaEventCreateWithFlags(&buffer.is_free, cudaEventDisableTiming); e != cudaSuccess) {
            return e;
        }
    }
    return cudaEventSynchronize(buffer.is_free);
}

cudaError_t CudaStaging::to_device(cudaStream_t stream, void* dst, const void* src, size_t nbytes) {
    const std::lock_guard lock(mutex_);
    for (size_t at = 0; at < nbytes; at += kBufferBytes) {
        Buffer& buffer = buffers_[at / kBufferBytes % buffers_.size()];
        const size_t n = std::min(kBufferBytes, nbytes - at);
        if (const cudaError_t e = make_ready(buffer); e != cudaSuccess) return e;
        std::memcpy(buffer.memory, static_cast<const std::byte*>(src) + at, n);
        cudaError_t e =
            cudaMemcpyAsync(static_cast<std::byte*>(dst) + at, buffer.memory, n, cudaMemcpyHostToDevice, stream);
        if (e == cudaSuccess) e = cudaEventRecord(buffer.is_free, stream);
        if (e != cudaSuccess) return e;
    }
    return cudaSuccess;
}

cudaError_t CudaStaging::to_host(cudaStream_t stream, void* dst, const void* src, size_t nbytes) {
    const std::lock_guard lock(mutex_);
    const size_t chunks = (nbytes + kBufferBytes - 1) / kBufferBytes;
    const auto size_of = [&](size_t chunk) { return std::min(kBufferBytes, nbytes - chunk * kBufferBytes); };
    // The host empties the buffer of a chunk while the next chunk is being copied.
    for (size_t i = 0; i <= chunks; ++i) {
        if (i < chunks) {
            Buffer& buffer = buffers_[i % buffers_.size()];
            if (const cudaError_t e = make_ready(buffer); e != cudaSuccess) return e;
            cudaError_t e = cudaMemcpyAsync(buffer.memory, static_cast<const std::byte*>(src) + i * kBufferBytes,
                                            size_of(i), cudaMemcpyDeviceToHost, stream);
            if (e == cudaSuccess) e = cudaEventRecord(buffer.is_free, stream);
            if (e != cudaSuccess) return e;
        }
        if (i == 0) continue;
        const Buffer& full = buffers_[(i - 1) % buffers_.size()];
        if (const cudaError_t e = cudaEventSynchronize(full.is_free); e != cudaSuccess) return e;
        std::memcpy(static_cast<std::byte*>(dst) + (i - 1) * kBufferBytes, full.memory, size_of(i - 1));
    }
    return cudaSuccess;
}

}  // namespace diopi
