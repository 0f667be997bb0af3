/* Addresses of the test's device: the processor's with an offset, so that they have no memory. */
#ifndef PLUGIN_DEVICE_H
#define PLUGIN_DEVICE_H

#include <diopi/diopirt.h>

#define DEVICE_OFFSET ((uintptr_t)1 << 61)

#ifdef __cplusplus
extern "C" {
#endif

static inline void* to_device(void* memory) { return (void*)((uintptr_t)memory + DEVICE_OFFSET); }
static inline void* to_host(const void* memory) { return (void*)((uintptr_t)memory - DEVICE_OFFSET); }

void* device_malloc(uint64_t bytes);
void device_free(void* memory);
diopiError_t device_memcpy_h2d_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes);
diopiError_t device_memcpy_d2h_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes);
diopiError_t device_memcpy_d2d_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes);
diopiError_t device_make_stream(diopiStreamHandle_t* stream);
diopiError_t device_destroy_stream(diopiStreamHandle_t stream);
diopiError_t device_synchronize_stream(diopiStreamHandle_t stream);
diopiError_t initLibrary(void);
diopiError_t finalizeLibrary(void);

#ifdef __cplusplus
}
#endif

#endif
