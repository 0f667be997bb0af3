/// The device: it has its own memory, calls return when their work is done, and a stream is only an identity.
#include <diopi/device_functions.h>
#include <diopi/functions.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace {

struct Stream {};

diopiError_t copy(void* dst, const void* src, uint64_t bytes) {
    if (bytes > 0) std::memmove(dst, src, bytes);
    return diopiSuccess;
}

}  // namespace

extern "C" {

const char* diopiGetVendorName() { return "VendorExampleDevice"; }
const char* diopiGetImplVersion() { return "0.1"; }
const char* diopiGetLastErrorString() { return ""; }

void* device_malloc(uint64_t bytes) { return std::malloc(bytes); }
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

diopiError_t device_make_stream(diopiStreamHandle_t* stream) {
    *stream = new (std::nothrow) Stream;
    return *stream == nullptr ? diopiErrorOccurred : diopiSuccess;
}

diopiError_t device_destroy_stream(diopiStreamHandle_t stream) {
    delete static_cast<Stream*>(stream);
    return diopiSuccess;
}

diopiError_t device_synchronize_stream(diopiStreamHandle_t) { return diopiSuccess; }

}  // extern "C"
