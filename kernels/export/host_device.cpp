/// What a library of kernels that work on the host's memory has besides them: its name, its last error, and the device
/// functions, each done when it returns.
#include <diopi/functions.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/context.hpp"

namespace diopi {

namespace {

thread_local std::string t_last_error;

}  // namespace

// Kernels that are linked in tell the program; here nobody else asks.
void set_last_error(std::string message) { t_last_error = std::move(message); }
const std::string& last_error() { return t_last_error; }

}  // namespace diopi

namespace {

/// What vector loads like best.
constexpr uint64_t kAlignment = 64;

diopiError_t copy(void* dst, const void* src, uint64_t bytes) {
    if (bytes > 0) std::memmove(dst, src, bytes);
    return diopiSuccess;
}

}  // namespace

extern "C" {

const char* diopiGetVendorName() { return "diopi cpu"; }
const char* diopiGetImplVersion() { return "1.0.0"; }
const char* diopiGetLastErrorString() { return diopi::last_error().c_str(); }

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
