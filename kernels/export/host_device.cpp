/// The device functions of a library whose kernels work on the host's memory. Each returns when its work is done.
#include <diopi/device_functions.h>
#include <diopi/functions.h>

#include <cstdlib>
#include <cstring>

namespace {

/// The best alignment for vector loads.
constexpr uint64_t kAlignment = 64;

diopiError_t copy(void* dst, const void* src, uint64_t bytes) {
    if (bytes > 0) std::memmove(dst, src, bytes);
    return diopiSuccess;
}

}  // namespace

extern "C" {

void* device_malloc(uint64_t bytes) {
    if (bytes > UINT64_MAX - kAlignment) return nullptr;
    return std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
}

void device_free(void* memory) { std::free(memory); }

diopiError_t device_memcpy_h2d_async(diopiStreamHandle_t, void* dst, const void* src, uint64_t bytes) {
    return copy(dst, src, bytes);
}

diopiError_t device_memcpy_d2h_async(diopiStreamHandle_t, void* dst, const void* src, uint64_t bytes) {
    return copy(dst, src, bytes);
}

diopiError_t device_memcpy_d2d_async(diopiStreamHandle_t, void* dst, const void* src, uint64_t bytes) {
    return copy(dst, src, bytes);
}

/// A stream is only an identity.
diopiError_t device_make_stream(diopiStreamHandle_t* stream) {
    *stream = std::malloc(1);
    return *stream == nullptr ? diopiErrorOccurred : diopiSuccess;
}

diopiError_t device_destroy_stream(diopiStreamHandle_t stream) {
    std::free(stream);
    return diopiSuccess;
}

diopiError_t device_synchronize_stream(diopiStreamHandle_t) { return diopiSuccess; }
diopiError_t initLibrary() { return diopiSuccess; }
diopiError_t finalizeLibrary() { return diopiSuccess; }

}  // extern "C"
