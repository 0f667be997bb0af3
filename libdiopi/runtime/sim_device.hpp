/// SimDevice: a simulated accelerator. Its memory is the host's, but must not be read without a copy;
/// its work takes the time of its model.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "runtime/device.hpp"

namespace diopi {

/// The costs of the device. A transfer takes latency + bytes / bandwidth, a kernel launch + slowdown * its time on the
/// host.
struct SimModel {
    std::string name = "sim";
    double copy_latency_s = 10e-6;
    double copy_bytes_per_s = 12e9;
    double launch_s = 5e-6;
    double slowdown = 1;
    int64_t memory_bytes = int64_t{16} << 30;
    /// Wait for the times of the model instead of only counting them.
    bool waits = false;
};

/// All streams are one queue: the device's own clock advances by the time of each piece of work. Events read that
/// clock.
class SimDevice final : public Device {
 public:
    explicit SimDevice(SimModel model) : model_(std::move(model)), used_(std::make_shared<std::atomic<int64_t>>(0)) {}

    [[nodiscard]] const SimModel& model() const { return model_; }
    /// Seconds that the device has worked, by its model.
    [[nodiscard]] double now() const { return now_; }
    /// Adds a kernel that took this time on the host.
    void add_kernel(double host_seconds);

    [[nodiscard]] std::string_view name() const override { return model_.name; }
    [[nodiscard]] Result<DeviceInfo> info() override;
    [[nodiscard]] bool is_host() const override { return false; }
    [[nodiscard]] Result<std::shared_ptr<void>> allocate(size_t nbytes) override;
    [[nodiscard]] std::optional<int64_t> allocated_bytes() const override { return used_->load(); }
    Status copy_to_device(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) override;
    Status copy_to_host(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) override;
    [[nodiscard]] Result<diopiStreamHandle_t> create_stream() override;
    Status destroy_stream(diopiStreamHandle_t stream) override;
    Status synchronize(diopiStreamHandle_t) override { return {}; }
    [[nodiscard]] Result<std::unique_ptr<Event>> create_event() override;

 private:
    Status copy(void* dst, const void* src, size_t nbytes);
    /// Advances the device's clock by `modelled` seconds; the host has already spent `spent` of them.
    void pass(double modelled, double spent);

    SimModel model_;
    double now_ = 0;
    /// Outlives the device as long as any of its memory does.
    std::shared_ptr<std::atomic<int64_t>> used_;
};

}  // namespace diopi
