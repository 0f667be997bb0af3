/// An asynchronous device of a vendor: each stream is a thread with a queue, which runs enqueued work later.
#pragma once

#include <functional>

#include "device.h"

/// Runs `work` on the stream's thread, after all enqueued work.
void enqueue(diopiStreamHandle_t stream, std::function<void()> work);
/// Returns when all enqueued work is done: the same as device_synchronize_stream, without that exported name.
void finish(diopiStreamHandle_t stream);
