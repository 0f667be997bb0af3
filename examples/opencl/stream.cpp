/// The device and its queues.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "device.hpp"

namespace vendor {

extern const char* const kKernels;

namespace {

/// The number of commands after which the events of finished commands are released.
constexpr size_t kCollect = 256;

thread_local std::string t_last_error;

std::mutex g_mutex;
Device g_device;

diopiError_t choose(Device& made) {
    cl_uint count = 0;
    std::vector<cl_platform_id> platforms(16);
    if (clGetPlatformIDs(static_cast<cl_uint>(platforms.size()), platforms.data(), &count) != CL_SUCCESS) count = 0;
    platforms.resize(std::min<size_t>(count, platforms.size()));
    for (cl_platform_id platform : platforms) {
        if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &made.id, nullptr) == CL_SUCCESS) return diopiSuccess;
    }
    return fail("no OpenCL device is found: apt-get install pocl-opencl-icd gives one that runs on the processor");
}

diopiError_t build(Device& made) {
    cl_int error = CL_SUCCESS;
    made.program = clCreateProgramWithSource(made.context, 1, const_cast<const char**>(&kKernels), nullptr, &error);
    if (error != CL_SUCCESS) return outcome("clCreateProgramWithSource", error);
    error = clBuildProgram(made.program, 1, &made.id, "", nullptr, nullptr);
    if (error == CL_SUCCESS) return diopiSuccess;
    std::string log(4096, '\0');
    size_t length = 0;
    clGetProgramBuildInfo(made.program, made.id, CL_PROGRAM_BUILD_LOG, log.size(), log.data(), &length);
    return fail("the kernels do not compile: " + std::string(log.c_str()));
}

diopiError_t open(Device& made) {
    if (choose(made) != diopiSuccess) return diopiErrorOccurred;
    cl_int error = CL_SUCCESS;
    made.context = clCreateContext(nullptr, 1, &made.id, nullptr, nullptr, &error);
    return error == CL_SUCCESS ? build(made) : outcome("clCreateContext", error);
}

/// Releases the events of commands that have ended, the oldest first.
void collect(Stream& stream) {
    size_t done = 0;
    for (; done < stream.pending.size(); ++done) {
        cl_int status = CL_QUEUED;
        clGetEventInfo(stream.pending[done], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
        if (status > CL_COMPLETE) break;
        clReleaseEvent(stream.pending[done]);
        if (status < 0) stream.failure = status;
    }
    stream.pending.erase(stream.pending.begin(), stream.pending.begin() + static_cast<std::ptrdiff_t>(done));
}

}  // namespace

diopiError_t fail(std::string message) {
    t_last_error = std::move(message);
    return diopiErrorOccurred;
}

diopiError_t outcome(const char* function, cl_int error) {
    if (error == CL_SUCCESS) return diopiSuccess;
    return fail(std::string(function) + ": OpenCL error " + std::to_string(error));
}

const Device* device() {
    const std::lock_guard lock(g_mutex);
    if (g_device.program != nullptr) return &g_device;
    Device made;
    if (open(made) != diopiSuccess) return nullptr;
    g_device = made;
    return &g_device;
}

void close_device() {
    const std::lock_guard lock(g_mutex);
    if (g_device.program != nullptr) clReleaseProgram(g_device.program);
    if (g_device.context != nullptr) clReleaseContext(g_device.context);
    g_device = {};
}

void keep(Stream& stream, cl_event event) {
    const std::lock_guard lock(stream.mutex);
    stream.pending.push_back(event);
    if (stream.pending.size() % kCollect == 0) collect(stream);
}

}  // namespace vendor

using namespace vendor;

extern "C" {

const char* diopiGetVendorName() { return "OpenClExampleDevice"; }
const char* diopiGetImplVersion() { return "0.1"; }
const char* diopiGetLastErrorString() { return t_last_error.c_str(); }

diopiError_t initLibrary() {
    if (device() != nullptr) return diopiSuccess;
    std::fprintf(stderr, "%s\n", diopiGetLastErrorString());
    return diopiErrorOccurred;
}

diopiError_t finalizeLibrary() {
    close_device();
    return diopiSuccess;
}

diopiError_t device_make_stream(diopiStreamHandle_t* stream) {
    const Device* on = device();
    if (on == nullptr) return diopiErrorOccurred;
    cl_int error = CL_SUCCESS;
    cl_command_queue queue = clCreateCommandQueue(on->context, on->id, 0, &error);  // in order
    if (error != CL_SUCCESS) return outcome("clCreateCommandQueue", error);
    auto* made = new Stream;
    made->queue = queue;
    *stream = made;
    return diopiSuccess;
}

diopiError_t device_synchronize_stream(diopiStreamHandle_t stream) {
    auto& on = *static_cast<Stream*>(stream);
    const cl_int error = clFinish(on.queue);
    const std::lock_guard lock(on.mutex);
    collect(on);
    const cl_int failure = std::exchange(on.failure, CL_SUCCESS);
    return error == CL_SUCCESS ? outcome("a command of the queue", failure) : outcome("clFinish", error);
}

diopiError_t device_destroy_stream(diopiStreamHandle_t stream) {
    const diopiError_t ended = device_synchronize_stream(stream);
    auto* on = static_cast<Stream*>(stream);
    clReleaseCommandQueue(on->queue);
    delete on;
    return ended;
}

}  // extern "C"
