/// Memory: a buffer is an object, not an address. Addresses are numbers above 2^54, where the processor has no memory;
/// each is used only once and found in a table. Arithmetic on them works, access to them does not.
#include <map>

#include "device.hpp"

namespace vendor {

namespace {

constexpr uintptr_t kFirstAddress = uintptr_t{1} << 54;
/// The gap between two allocations, so that an address past the end of one does not belong to the next.
constexpr uintptr_t kGap = 4096;

struct Block {
    cl_mem buffer;
    size_t bytes;
};

struct Table {
    std::mutex mutex;
    std::map<uintptr_t, Block> blocks;
    uintptr_t next = kFirstAddress;
};

Table& table() {
    static Table* const all = new Table;  // lives longer than memory that is freed at the program's end
    return *all;
}

diopiError_t copy_in(Stream& stream, void* dst, const void* src, uint64_t bytes) {
    const auto to = place_of(dst);
    if (!to) return diopiErrorOccurred;
    if (bytes > to->bytes) return fail("a copy to the device goes past the end of its memory");
    cl_event event = nullptr;
    const cl_int error =
        clEnqueueWriteBuffer(stream.queue, to->buffer, CL_FALSE, to->offset, bytes, src, 0, nullptr, &event);
    if (error == CL_SUCCESS) keep(stream, event);
    return outcome("clEnqueueWriteBuffer", error);
}

diopiError_t copy_out(Stream& stream, void* dst, const void* src, uint64_t bytes) {
    const auto from = place_of(src);
    if (!from) return diopiErrorOccurred;
    if (bytes > from->bytes) return fail("a copy from the device goes past the end of its memory");
    cl_event event = nullptr;
    const cl_int error =
        clEnqueueReadBuffer(stream.queue, from->buffer, CL_FALSE, from->offset, bytes, dst, 0, nullptr, &event);
    if (error == CL_SUCCESS) keep(stream, event);
    return outcome("clEnqueueReadBuffer", error);
}

diopiError_t copy_on_device(Stream& stream, void* dst, const void* src, uint64_t bytes) {
    const auto from = place_of(src), to = place_of(dst);
    if (!from || !to) return diopiErrorOccurred;
    if (bytes > from->bytes || bytes > to->bytes) return fail("a copy on the device goes past the end of its memory");
    cl_event event = nullptr;
    const cl_int error = clEnqueueCopyBuffer(stream.queue, from->buffer, to->buffer, from->offset, to->offset, bytes, 0,
                                             nullptr, &event);
    if (error == CL_SUCCESS) keep(stream, event);
    return outcome("clEnqueueCopyBuffer", error);
}

}  // namespace

std::optional<Place> place_of(const void* address) {
    const auto wanted = reinterpret_cast<uintptr_t>(address);
    const std::lock_guard lock(table().mutex);
    auto next = table().blocks.upper_bound(wanted);
    if (next != table().blocks.begin()) {
        const auto& [start, block] = *--next;
        if (wanted - start < block.bytes) return Place{block.buffer, wanted - start, block.bytes - (wanted - start)};
    }
    fail("an address is none of this device's memory");
    return std::nullopt;
}

}  // namespace vendor

using namespace vendor;

extern "C" {

void* device_malloc(uint64_t bytes) {
    const Device* on = device();
    if (on == nullptr || bytes == 0) return nullptr;
    cl_int error = CL_SUCCESS;
    cl_mem buffer = clCreateBuffer(on->context, CL_MEM_READ_WRITE, bytes, nullptr, &error);
    if (outcome("clCreateBuffer", error) != diopiSuccess) return nullptr;
    const std::lock_guard lock(table().mutex);
    const uintptr_t start = table().next;
    table().next += (bytes + 2 * kGap - 1) / kGap * kGap;
    table().blocks[start] = {buffer, bytes};
    return reinterpret_cast<void*>(start);
}

/// Enqueued commands may still use the buffer: OpenCL keeps it until they have ended.
void device_free(void* memory) {
    const std::lock_guard lock(table().mutex);
    const auto found = table().blocks.find(reinterpret_cast<uintptr_t>(memory));
    if (found == table().blocks.end()) return;
    clReleaseMemObject(found->second.buffer);
    table().blocks.erase(found);
}

diopiError_t device_memcpy_h2d_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    return bytes == 0 ? diopiSuccess : copy_in(*static_cast<Stream*>(stream), dst, src, bytes);
}

diopiError_t device_memcpy_d2h_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    return bytes == 0 ? diopiSuccess : copy_out(*static_cast<Stream*>(stream), dst, src, bytes);
}

diopiError_t device_memcpy_d2d_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    return bytes == 0 ? diopiSuccess : copy_on_device(*static_cast<Stream*>(stream), dst, src, bytes);
}

}  // extern "C"
