/// The device functions that an operator library defines, with C linkage, so that a program can give its operators memory
/// and streams. A library that includes this header has their types checked by its compiler. C and C++.
///
/// The host never reads or writes device memory: an address may be any number but 0. A function that returns
/// diopiError_t returns diopiSuccess, or the code of its failure; diopiGetLastErrorString then gives the reason.
#ifndef DIOPI_DEVICE_FUNCTIONS_H
#define DIOPI_DEVICE_FUNCTIONS_H

#include <diopi/diopirt.h>

/// Device functions are strong: a library defines them.
#define DIOPI_DEVICE_API

#ifdef __cplusplus
extern "C" {
#endif

/// Memory of the device, aligned for every dtype; null when there is not enough. `bytes` is above 0.
DIOPI_DEVICE_API void* device_malloc(uint64_t bytes);
/// Frees memory of device_malloc. Work in any stream that uses it has ended.
DIOPI_DEVICE_API void device_free(void* ptr);

/// Copies from the host's memory to the device's, in the order of the stream. The host waits for the stream before it
/// changes `src`.
DIOPI_DEVICE_API diopiError_t device_memcpy_h2d_async(diopiStreamHandle_t stream, void* dst, const void* src,
                                                      uint64_t bytes);
/// Copies from the device's memory to the host's, in the order of the stream. The host waits for the stream before it
/// reads `dst`.
DIOPI_DEVICE_API diopiError_t device_memcpy_d2h_async(diopiStreamHandle_t stream, void* dst, const void* src,
                                                      uint64_t bytes);
/// Copies within the device's memory, in the order of the stream. Optional: without it, diopi test leaves out the check
/// that an operator works in the stream of its context.
DIOPI_DEVICE_API diopiError_t device_memcpy_d2d_async(diopiStreamHandle_t stream, void* dst, const void* src,
                                                      uint64_t bytes);

/// Makes a stream: a queue of work that the device does in order.
DIOPI_DEVICE_API diopiError_t device_make_stream(diopiStreamHandle_t* stream);
/// Destroys a stream, whose work has ended.
DIOPI_DEVICE_API diopiError_t device_destroy_stream(diopiStreamHandle_t stream);
/// Waits until all work in the stream has ended.
DIOPI_DEVICE_API diopiError_t device_synchronize_stream(diopiStreamHandle_t stream);

/// Called once before any other function, and once after the last one. Both are optional.
DIOPI_DEVICE_API diopiError_t initLibrary(void);
DIOPI_DEVICE_API diopiError_t finalizeLibrary(void);

/// The first state of a generator whose bytes only the library understands. Optional; diopi never calls it.
DIOPI_DEVICE_API diopiError_t buildGeneratorState(diopiContextHandle_t ctx, diopiTensorHandle_t out);

#ifdef __cplusplus
}
#endif

#endif
