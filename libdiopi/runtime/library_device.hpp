/// LibraryDevice: a device behind the C functions that the standard asks of a vendor for conformance runs.
#pragma once

#include <diopi/diopirt.h>

#include <functional>
#include <mutex>
#include <string>

#include "runtime/device.hpp"
#include "runtime/stream_copies.hpp"

namespace diopi {

/// The functions by their names in the standard. A function that a library lacks is null; once the library is open,
/// that is so only for `copy_on_device`, `start` and `finish`.
struct DeviceFunctions {
    void* (*allocate)(uint64_t) = nullptr;                                                        ///< device_malloc
    void (*free)(void*) = nullptr;                                                                ///< device_free
    diopiError_t (*copy_in)(diopiStreamHandle_t, void*, const void*, uint64_t) = nullptr;         ///< ..._h2d_async
    diopiError_t (*copy_out)(diopiStreamHandle_t, void*, const void*, uint64_t) = nullptr;        ///< ..._d2h_async
    diopiError_t (*copy_on_device)(diopiStreamHandle_t, void*, const void*, uint64_t) = nullptr;  ///< ..._d2d_async
    diopiError_t (*make_stream)(diopiStreamHandle_t*) = nullptr;  ///< device_make_stream
    diopiError_t (*destroy_stream)(diopiStreamHandle_t) = nullptr;
    diopiError_t (*synchronize)(diopiStreamHandle_t) = nullptr;
    diopiError_t (*start)() = nullptr;      ///< initLibrary
    diopiError_t (*finish)() = nullptr;     ///< finalizeLibrary
    const char* (*last_error)() = nullptr;  ///< diopiGetLastErrorString
};

/// Memory comes from device_malloc, and is never accessed from the host. A copy to the device waits for its stream,
/// because a vendor may read the host's memory after the call; the null stream means a stream of the device. Events
/// wait for their stream and read the host's clock: the time between two of them includes the wait.
class LibraryDevice final : public Device, public StreamCopies {
 public:
    /// `open` fills the functions in; it is called at the first use, and again after a failure.
    LibraryDevice(std::string name, std::function<Status(DeviceFunctions&)> open)
        : name_(std::move(name)), open_(std::move(open)) {}

    [[nodiscard]] std::string_view name() const override { return name_; }
    [[nodiscard]] Result<DeviceInfo> info() override;
    [[nodiscard]] bool is_host() const override { return false; }
    [[nodiscard]] Result<std::shared_ptr<void>> allocate(size_t nbytes) override;
    /// Bytes of the process's heap: the standard has no function for the device's memory in use. They include the
    /// memory of a device that takes it from the heap.
    [[nodiscard]] std::optional<int64_t> allocated_bytes() const override { return cpu_device().allocated_bytes(); }
    Status copy_to_device(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) override;
    Status copy_to_host(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) override;
    [[nodiscard]] Result<diopiStreamHandle_t> create_stream() override;
    Status destroy_stream(diopiStreamHandle_t stream) override;
    Status synchronize(diopiStreamHandle_t stream) override;
    [[nodiscard]] Result<std::unique_ptr<Event>> create_event() override;
    Status copy_on_device(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) override;

 private:
    [[nodiscard]] Status make_ready();
    [[nodiscard]] Status outcome(const char* function, diopiError_t error) const;
    [[nodiscard]] std::string words() const;
    [[nodiscard]] Result<diopiStreamHandle_t> own_stream();

    std::string name_;
    std::function<Status(DeviceFunctions&)> open_;
    std::mutex mutex_, stream_mutex_;
    bool is_ready_ = false;
    DeviceFunctions functions_;
    diopiStreamHandle_t own_stream_ = nullptr;
};

}  // namespace diopi
