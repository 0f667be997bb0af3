/// For tests: a device with its own clock, on which a launch takes time on the host and the kernel on the device. It
/// never waits: the times of host and device are two numbers.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>

#include "backend/faulty_testing.hpp"
#include "call/chain.hpp"
#include "runtime/device_decorator.hpp"

namespace diopi::testing {

/// One queue of work, for all streams; memory is the host's.
class LaunchDevice final : public DeviceDecorator {
 public:
    LaunchDevice() : DeviceDecorator(cpu_device()) {}

    double host = 0;    ///< seconds: the host's time
    double stream = 0;  ///< the time when the device has finished its work
    double copy_s = 100e-6;
    bool copies = true;  ///< whether it has copies of its own
    int streams = 0;     ///< streams that exist
    int64_t launches = 0;
    /// Counts the copies inside its memory.
    std::function<void(void* dst, const void* src, size_t nbytes)> on_copy;

    /// Work with a launch time on the host and a run time on the device.
    void launch(double host_s, double device_s) {
        ++launches;
        host += host_s;
        stream = std::max(stream, host) + device_s;
    }
    [[nodiscard]] bool is_busy() const { return stream > host; }

    [[nodiscard]] std::string_view name() const override { return "launching"; }
    [[nodiscard]] bool is_host() const override { return false; }
    [[nodiscard]] Result<DeviceInfo> info() override {
        DeviceInfo info;
        info.total_bytes = int64_t{64} << 20;
        info.cache_bytes = int64_t{1} << 20;
        return info;
    }
    [[nodiscard]] Result<diopiStreamHandle_t> create_stream() override {
        ++streams;
        return device_->create_stream();
    }
    Status destroy_stream(diopiStreamHandle_t stream) override {
        --streams;
        return device_->destroy_stream(stream);
    }
    /// Reports a power limit while it works, like a GPU.
    [[nodiscard]] std::string slowdown() override { return is_busy() ? "power limit" : ""; }
    Status synchronize(diopiStreamHandle_t) override {
        host = std::max(host, stream);
        return {};
    }
    [[nodiscard]] Result<std::unique_ptr<Event>> create_event() override {
        return std::unique_ptr<Event>(std::make_unique<Mark>(*this));
    }
    Status copy_on_device(diopiStreamHandle_t, void* dst, const void* src, size_t nbytes) override {
        if (!copies) return Error{Errc::kNotImplemented, "no copies"};
        if (on_copy) on_copy(dst, src, nbytes);
        launch(0, copy_s);
        return {};
    }

 private:
    class Mark final : public Event {
     public:
        explicit Mark(LaunchDevice& device) : device_(device) {}
        Status record(diopiStreamHandle_t) override {
            time_ = std::max(device_.stream, device_.host);
            return {};
        }
        Status synchronize() override {
            device_.host = std::max(device_.host, time_);
            return {};
        }
        [[nodiscard]] Result<double> elapsed_ms_since(const Event& start) const override {
            return (time_ - static_cast<const Mark&>(start).time_) * 1e3;
        }

     private:
        LaunchDevice& device_;
        double time_ = 0;
    };
};

/// The cpu backend on a launching device, with some functions that only launch and take the same time on the device at
/// any size. Only one may exist at a time.
class LaunchBackend {
 public:
    static constexpr double kLaunch = 8e-6, kElementwise = 30e-6, kProduct = 40e-6;

    LaunchBackend() { current() = this; }
    [[nodiscard]] const Backend& backend() const { return backend_; }

    LaunchDevice device;
    std::function<void()> on_launch;

 private:
    static LaunchBackend*& current() {
        static LaunchBackend* backend = nullptr;
        return backend;
    }
    static diopiError_t launch(double device_s) {
        LaunchBackend& self = *current();
        if (self.on_launch) self.on_launch();
        self.device.launch(kLaunch, device_s);
        return diopiSuccess;
    }
    static diopiError_t relu(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) {
        return launch(kElementwise);
    }
    static diopiError_t add(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t,
                            diopiConstTensorHandle_t, const diopiScalar_t*) {
        return launch(kElementwise);
    }
    static diopiError_t copy(diopiContextHandle_t, diopiConstTensorHandle_t, diopiTensorHandle_t) {
        return launch(kElementwise);
    }
    static diopiError_t mm(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t,
                           diopiConstTensorHandle_t) {
        return launch(kProduct);
    }

    FaultyBackend functions_{{{"diopiRelu", any_function(relu)},
                              {"diopiAdd", any_function(add)},
                              {"diopiCopyInp", any_function(copy)},
                              {"diopiMm", any_function(mm)}}};
    Backend backend_ = functions_.backend().on(device);
};

/// Replaces every call by a launch.
class Launches final : public Interceptor {
 public:
    Launches(LaunchDevice& device, double host_s, double device_s)
        : device_(device), host_s_(host_s), device_s_(device_s) {}
    Outcome around(Call&, Context&, const Next&) override {
        device_.launch(host_s_, device_s_);
        return {};
    }

 private:
    LaunchDevice& device_;
    double host_s_, device_s_;
};

}  // namespace diopi::testing
