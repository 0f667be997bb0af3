/// The OpenCL device: its context and program, memory behind addresses, queues behind streams.
#pragma once

#include <CL/cl.h>
#include <diopi/functions.h>

#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace vendor {

/// The first device that any platform has; opened at the first use.
struct Device {
    cl_device_id id = nullptr;
    cl_context context = nullptr;
    cl_program program = nullptr;
};

/// Null, and the last error says why, when there is none.
const Device* device();
void close_device();

/// What an address stands for. An address is only a number: no memory of the processor is there.
struct Place {
    cl_mem buffer = nullptr;
    size_t offset = 0, bytes = 0;  ///< from the buffer's start; what is left of it from there
};

/// Of an address that device_malloc gave, or of one inside such memory. None, and the last error says so, for others.
std::optional<Place> place_of(const void* address);

/// An in-order queue, and the events of what was put into it: they alone tell when a command fails.
struct Stream {
    cl_command_queue queue = nullptr;
    std::mutex mutex;
    std::vector<cl_event> pending;
    cl_int failure = CL_SUCCESS;  ///< of a command since the last wait
};

/// Takes over the event of a command that was enqueued.
void keep(Stream& stream, cl_event event);

/// Remembers the text for diopiGetLastErrorString, in this thread.
diopiError_t fail(std::string message);
/// diopiSuccess, or a failure that names the function and OpenCL's number of the error.
diopiError_t outcome(const char* function, cl_int error);

}  // namespace vendor
