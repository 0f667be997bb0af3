/// Device: memory, streams and events behind one interface. The CPU is a device like any other; its kernels run in the
/// calling thread, so its streams never have work left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/status.hpp"
#include "core/tensor.hpp"
#include "runtime/activity.hpp"

namespace diopi {

/// A device's description of itself; an unknown text is empty.
struct DeviceInfo {
    std::string name;          ///< "Intel(R) Xeon(R) ..."
    std::string vendor;        ///< "GenuineIntel"
    std::string architecture;  ///< "x86_64"
    int64_t total_bytes = 0;   ///< memory of the device
    int64_t free_bytes = 0;    ///< the part that can be allocated now
    int compute_units = 0;     ///< processors that this process may use, or multiprocessors
    int64_t cache_bytes = 0;   ///< size of the last-level cache; 0: not known
};

/// A point in the order of a stream's work.
class Event {
 public:
    virtual ~Event() = default;
    /// Marks the point after all work enqueued on `stream` so far.
    virtual Status record(diopiStreamHandle_t stream) = 0;
    /// Waits until the marked point has been reached.
    virtual Status synchronize() = 0;
    /// Milliseconds from `start` to this event; both recorded and reached.
    [[nodiscard]] virtual Result<double> elapsed_ms_since(const Event& start) const = 0;
};

class Device {
 public:
    virtual ~Device() = default;
    [[nodiscard]] virtual std::string_view name() const = 0;
    [[nodiscard]] virtual Result<DeviceInfo> info() = 0;
    /// Whether the host can read and write the device's memory directly.
    [[nodiscard]] virtual bool is_host() const = 0;
    /// `nbytes` bytes, aligned to 64; null for 0 bytes.
    [[nodiscard]] virtual Result<std::shared_ptr<void>> allocate(size_t nbytes) = 0;
    /// Bytes that the process holds of the device's memory, so that growth shows a leak; nullopt if it is unknown.
    [[nodiscard]] virtual std::optional<int64_t> allocated_bytes() const { return std::nullopt; }
    /// Both copies take place in the stream's order. `src` of the first may be changed or freed as soon as it returns;
    /// `dst` of the second is complete, and may be freed, only after synchronize().
    virtual Status copy_to_device(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) = 0;
    virtual Status copy_to_host(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) = 0;
    [[nodiscard]] virtual Result<diopiStreamHandle_t> create_stream() = 0;
    /// Waits for the stream's work and returns its error.
    virtual Status destroy_stream(diopiStreamHandle_t stream) = 0;
    virtual Status synchronize(diopiStreamHandle_t stream) = 0;
    [[nodiscard]] virtual Result<std::unique_ptr<Event>> create_event() = 0;
    /// Why the device is slower at the moment than it could be, such as "too hot"; empty if it is not, or if this
    /// is unknown.
    [[nodiscard]] virtual std::string slowdown() { return {}; }
    /// Begins to record the device's activities; null if the device cannot report them.
    [[nodiscard]] virtual Result<std::unique_ptr<ActivityRecording>> record_activities() {
        return std::unique_ptr<ActivityRecording>();
    }
};

/// The CPU with the host's memory.
[[nodiscard]] Device& cpu_device();

/// A new tensor in the device's memory, contents undefined; a message when memory runs out.
[[nodiscard]] Result<TensorPtr> make_tensor(Device& device, const TensorSpec& spec);
/// The same as a view that starts `offset` elements behind the start of a storage of `extent` elements.
[[nodiscard]] Result<TensorPtr> make_view(Device& device, const TensorSpec& spec, int64_t offset, int64_t extent);

/// Writes memory that no stream uses yet, also the host's; the writes are complete when it returns, independent of the
/// streams.
Status write_now(Device& device, void* dst, const void* src, size_t nbytes);
/// The same for every byte of a tensor's storage.
Status fill_now(Device& device, const Tensor& tensor, std::byte byte);

/// A tensor in host memory with the same layout, for the whole storage of `tensor`; contents undefined.
[[nodiscard]] Result<TensorPtr> staging_for(const Tensor& tensor);

/// A tensor of the same shape and dtype in host memory, contiguous, with the values of `tensor` (any strides).
[[nodiscard]] Result<TensorPtr> to_host(Device& device, diopiStreamHandle_t stream, const Tensor& tensor);

/// Gives a tensor on the device the values of a host tensor of the same shape and dtype, both of any strides; returns
/// when the host's memory is free again. Memory between the tensor's elements does not change.
Status copy_values(Device& device, diopiStreamHandle_t stream, const Tensor& host, const Tensor& to);

/// Whether the device still works: copies a few bytes to it and back. After an error, a device often fails
/// at every later call.
[[nodiscard]] Status check_health(Device& device);

/// Copies a host tensor to the device, keeping shape, dtype and strides.
[[nodiscard]] Result<TensorPtr> to_device(Device& device, diopiStreamHandle_t stream, const Tensor& host);

}  // namespace diopi
