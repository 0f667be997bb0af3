/// The OpenCL device: its context and program, memory behind addresses, queues behind streams.
#pragma once

#include <CL/cl.h>
#include <diopi/device_functions.h>
#include <diopi/functions.h>

#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace vendor {

/// The first device of the first platform that has one; opened at the first use.
struct Device {
    cl_device_id id = nullptr;
    cl_context context = nullptr;
    cl_program program = nullptr;
};

/// Null if there is no device; the last error says why.
const Device* device();
void close_device();

/// The buffer behind an address. An address is only a number: the processor has no memory there.
struct Place {
    cl_mem buffer = nullptr;
    size_t offset = 0, bytes = 0;  ///< from the buffer's start; the bytes behind the offset
};

/// The place of an address that device_malloc returned, or of one inside such memory. Others give none and set the last
/// error.
std::optional<Place> place_of(const void* address);

/// An in-order queue and the events of its commands: only an event shows that a command failed.
struct Stream {
    cl_command_queue queue = nullptr;
    std::mutex mutex;
    std::vector<cl_event> pending;
    cl_int failure = CL_SUCCESS;  ///< a command's error since the last wait
};

/// Takes ownership of the event of an enqueued command.
void keep(Stream& stream, cl_event event);

/// Stores the text for diopiGetLastErrorString in this thread.
diopiError_t fail(std::string message);
/// diopiSuccess, or a failure that names the function and OpenCL's number of the error.
diopiError_t outcome(const char* function, cl_int error);

}  // namespace vendor
