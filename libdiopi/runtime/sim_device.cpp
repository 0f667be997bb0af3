#include "runtime/sim_device.hpp"

#include <chrono>
#include <cstring>
#include <thread>

#include "core/stopwatch.hpp"

namespace diopi {

namespace {

/// Shorter waits are spent in a loop: the system's own waits are not that short.
constexpr double kSleep_s = 200e-6;

void wait(double seconds) {
    const Stopwatch watch;
    if (seconds > 2 * kSleep_s) std::this_thread::sleep_for(std::chrono::duration<double>(seconds - kSleep_s));
    while (watch.seconds() < seconds) {
    }
}

class SimEvent final : public Event {
 public:
    explicit SimEvent(const SimDevice& device) : device_(&device) {}
    Status record(diopiStreamHandle_t) override {
        time_ = device_->now();
        return {};
    }
    Status synchronize() override { return {}; }
    Result<double> elapsed_ms_since(const Event& start) const override {
        return (time_ - static_cast<const SimEvent&>(start).time_) * 1e3;
    }

 private:
    const SimDevice* device_;
    double time_ = 0;
};

}  // namespace

void SimDevice::pass(double modelled, double spent) {
    now_ += modelled;
    if (model_.waits && modelled > spent) wait(modelled - spent);
}

void SimDevice::add_kernel(double host_seconds) {
    pass(model_.launch_s + model_.slowdown * host_seconds, host_seconds);
}

Result<DeviceInfo> SimDevice::info() {
    DeviceInfo info;
    info.name = model_.name;
    info.vendor = "simulated";
    info.total_bytes = model_.memory_bytes;
    info.free_bytes = model_.memory_bytes - used_->load();
    info.compute_units = 1;
    return info;
}

Result<std::shared_ptr<void>> SimDevice::allocate(size_t nbytes) {
    const auto wanted = static_cast<int64_t>(nbytes);
    if (used_->fetch_add(wanted) + wanted > model_.memory_bytes) {
        used_->fetch_sub(wanted);
        return failed(model_.name + " is out of memory: " + std::to_string(nbytes) + " bytes wanted, " +
                      std::to_string(model_.memory_bytes - used_->load()) +
                      " free; give it more memory in its configuration");
    }
    auto memory = cpu_device().allocate(nbytes);
    if (!memory.ok() || *memory == nullptr) {
        used_->fetch_sub(wanted);
        return memory;
    }
    void* address = memory->get();
    return std::shared_ptr<void>(address, [memory = std::move(*memory), used = used_, wanted](void*) mutable {
        memory.reset();
        used->fetch_sub(wanted);
    });
}

Status SimDevice::copy(void* dst, const void* src, size_t nbytes) {
    const Stopwatch watch;
    if (nbytes > 0) std::memcpy(dst, src, nbytes);
    pass(model_.copy_latency_s + static_cast<double>(nbytes) / model_.copy_bytes_per_s, watch.seconds());
    return {};
}

Status SimDevice::copy_to_device(diopiStreamHandle_t, void* dst, const void* src, size_t nbytes) {
    return copy(dst, src, nbytes);
}

Status SimDevice::copy_to_host(diopiStreamHandle_t, void* dst, const void* src, size_t nbytes) {
    return copy(dst, src, nbytes);
}

Result<diopiStreamHandle_t> SimDevice::create_stream() { return static_cast<void*>(new char(0)); }

Status SimDevice::destroy_stream(diopiStreamHandle_t stream) {
    delete static_cast<char*>(stream);
    return {};
}

Result<std::unique_ptr<Event>> SimDevice::create_event() { return std::unique_ptr<Event>(new SimEvent(*this)); }

}  // namespace diopi
