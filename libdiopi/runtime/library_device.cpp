#include "runtime/library_device.hpp"

#include <chrono>

namespace diopi {

namespace {

class HostClockEvent final : public Event {
 public:
    explicit HostClockEvent(Device& device) : device_(&device) {}
    Status record(diopiStreamHandle_t stream) override {
        Status s = device_->synchronize(stream);
        time_ = std::chrono::steady_clock::now();
        return s;
    }
    Status synchronize() override { return {}; }
    Result<double> elapsed_ms_since(const Event& start) const override {
        const auto& other = static_cast<const HostClockEvent&>(start);
        return std::chrono::duration<double, std::milli>(time_ - other.time_).count();
    }

 private:
    Device* device_;
    std::chrono::steady_clock::time_point time_;
};

}  // namespace

Status LibraryDevice::make_ready() {
    const std::lock_guard lock(mutex_);
    if (is_ready_) return {};
    Status s = open_(functions_);
    is_ready_ = s.ok();
    return s;
}

Status LibraryDevice::outcome(const char* function, diopiError_t error) const {
    if (error == diopiSuccess) return {};
    return failed(name_ + ": " + function + " answers " + std::to_string(static_cast<int>(error)) + words());
}

/// The last error of the library in brackets, if it has one.
std::string LibraryDevice::words() const {
    const char* words = functions_.last_error == nullptr ? nullptr : functions_.last_error();
    return words == nullptr || *words == '\0' ? "" : " (its last error: " + std::string(words) + ")";
}

Result<diopiStreamHandle_t> LibraryDevice::own_stream() {
    const std::lock_guard lock(stream_mutex_);
    if (own_stream_ == nullptr) {
        auto made = create_stream();
        if (!made.ok()) return made;
        own_stream_ = *made;
    }
    return own_stream_;
}

Result<DeviceInfo> LibraryDevice::info() {
    return not_implemented("the standard has no function by which " + name_ + " could describe its device");
}

Result<std::shared_ptr<void>> LibraryDevice::allocate(size_t nbytes) {
    if (Status s = make_ready(); !s.ok()) return s.error();
    if (nbytes == 0) return std::shared_ptr<void>();
    void* memory = functions_.allocate(nbytes);
    if (memory == nullptr) {
        return failed("out of memory: device_malloc of " + name_ + " gives no " + std::to_string(nbytes) + " bytes" +
                      words() + "; run fewer cases at a time (--jobs 1)");
    }
    return std::shared_ptr<void>(memory, functions_.free);
}

Status LibraryDevice::copy_to_device(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) {
    if (nbytes == 0) return {};
    if (Status s = make_ready(); !s.ok()) return s;
    const auto in = stream == nullptr ? own_stream() : stream;
    if (!in.ok()) return in.status();
    Status s = outcome("device_memcpy_h2d_async", functions_.copy_in(*in, dst, src, nbytes));
    return s.ok() ? synchronize(*in) : s;
}

Status LibraryDevice::copy_to_host(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) {
    if (nbytes == 0) return {};
    if (Status s = make_ready(); !s.ok()) return s;
    const auto in = stream == nullptr ? own_stream() : stream;
    if (!in.ok()) return in.status();
    return outcome("device_memcpy_d2h_async", functions_.copy_out(*in, dst, src, nbytes));
}

Status LibraryDevice::copy_on_device(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) {
    if (Status s = make_ready(); !s.ok()) return s;
    if (functions_.copy_on_device == nullptr) return not_implemented(name_ + " has no device_memcpy_d2d_async");
    if (nbytes == 0) return {};
    const auto in = stream == nullptr ? own_stream() : stream;
    if (!in.ok()) return in.status();
    return outcome("device_memcpy_d2d_async", functions_.copy_on_device(*in, dst, src, nbytes));
}

Result<diopiStreamHandle_t> LibraryDevice::create_stream() {
    if (Status s = make_ready(); !s.ok()) return s.error();
    diopiStreamHandle_t stream = nullptr;
    if (Status s = outcome("device_make_stream", functions_.make_stream(&stream)); !s.ok()) return s.error();
    return stream;
}

Status LibraryDevice::destroy_stream(diopiStreamHandle_t stream) {
    if (Status s = make_ready(); !s.ok()) return s;
    Status waited = synchronize(stream);
    Status s = outcome("device_destroy_stream", functions_.destroy_stream(stream));
    return waited.ok() ? s : waited;
}

Status LibraryDevice::synchronize(diopiStreamHandle_t stream) {
    if (Status s = make_ready(); !s.ok()) return s;
    const auto in = stream == nullptr ? own_stream() : stream;
    if (!in.ok()) return in.status();
    return outcome("device_synchronize_stream", functions_.synchronize(*in));
}

Result<std::unique_ptr<Event>> LibraryDevice::create_event() {
    if (Status s = make_ready(); !s.ok()) return s.error();
    return std::unique_ptr<Event>(new HostClockEvent(*this));
}

}  // namespace diopi
