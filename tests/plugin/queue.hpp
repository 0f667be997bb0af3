/// An asynchronous device of a vendor: each stream is a thread with a queue, and what is enqueued is done later.
#pragma once

#include <functional>

#include "device.h"

/// Runs `work` on the stream's thread, behind all that is enqueued there.
void enqueue(diopiStreamHandle_t stream, std::function<void()> work);
/// Returns when all that is enqueued on it is done; what device_synchronize_stream does, unseen by the linker.
void finish(diopiStreamHandle_t stream);
