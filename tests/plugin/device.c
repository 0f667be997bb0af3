/* A vendor's device in the host's memory, which the host cannot access: its addresses are not those of the processor.
 * Its streams are its own handles; the null stream is none of them. */
#include "device.h"

#include <stdlib.h>
#include <string.h>

#define STREAM_MAGIC 0x5354524541412ULL

struct stream {
    uint64_t magic;
};

static diopiError_t check(diopiStreamHandle_t stream) {
    const struct stream* s = (const struct stream*)stream;
    return s != NULL && s->magic == STREAM_MAGIC ? diopiSuccess : diopiErrorOccurred;
}

/* Zeros, as the memory of a device often is at first. */
void* device_malloc(uint64_t bytes) {
    const uint64_t size = (bytes + 63) / 64 * 64;
    void* memory = aligned_alloc(64, size);
    return memory == NULL ? NULL : to_device(memset(memory, 0, size));
}

void device_free(void* memory) { free(to_host(memory)); }

diopiError_t device_memcpy_h2d_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    memcpy(to_host(dst), src, bytes);
    return check(stream);
}

diopiError_t device_memcpy_d2h_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    memcpy(dst, to_host(src), bytes);
    return check(stream);
}

diopiError_t device_memcpy_d2d_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    memmove(to_host(dst), to_host(src), bytes);
    return check(stream);
}

diopiError_t device_make_stream(diopiStreamHandle_t* stream) {
    struct stream* made = (struct stream*)malloc(sizeof *made);
    if (made == NULL) return diopiErrorOccurred;
    made->magic = STREAM_MAGIC;
    *stream = made;
    return diopiSuccess;
}

diopiError_t device_destroy_stream(diopiStreamHandle_t stream) {
    const diopiError_t error = check(stream);
    if (error == diopiSuccess) {
        ((struct stream*)stream)->magic = 0;
        free(stream);
    }
    return error;
}

diopiError_t device_synchronize_stream(diopiStreamHandle_t stream) { return check(stream); }
