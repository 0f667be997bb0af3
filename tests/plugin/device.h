/* Addresses of the test's device: the processor's with an offset, so that they have no memory. */
#ifndef PLUGIN_DEVICE_H
#define PLUGIN_DEVICE_H

#include <diopi/device_functions.h>

#define DEVICE_OFFSET ((uintptr_t)1 << 61)

static inline void* to_device(void* memory) { return (void*)((uintptr_t)memory + DEVICE_OFFSET); }
static inline void* to_host(const void* memory) { return (void*)((uintptr_t)memory - DEVICE_OFFSET); }

#endif
