/// The base of all decorators of a device: forwards everything that they do not change.
#pragma once

#include "runtime/device.hpp"
#include "runtime/stream_copies.hpp"

namespace diopi {

class DeviceDecorator : public Device, public StreamCopies {
 public:
    explicit DeviceDecorator(Device& device) : device_(&device), copies_(dynamic_cast<StreamCopies*>(&device)) {}

    [[nodiscard]] std::string_view name() const override { return device_->name(); }
    [[nodiscard]] Result<DeviceInfo> info() override { return device_->info(); }
    [[nodiscard]] bool is_host() const override { return device_->is_host(); }
    [[nodiscard]] Result<std::shared_ptr<void>> allocate(size_t nbytes) override { return device_->allocate(nbytes); }
    [[nodiscard]] std::optional<int64_t> allocated_bytes() const override { return device_->allocated_bytes(); }
    Status copy_to_device(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) override {
        return device_->copy_to_device(stream, dst, src, nbytes);
    }
    Status copy_to_host(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) override {
        return device_->copy_to_host(stream, dst, src, nbytes);
    }
    [[nodiscard]] Result<diopiStreamHandle_t> create_stream() override { return device_->create_stream(); }
    Status destroy_stream(diopiStreamHandle_t stream) override { return device_->destroy_stream(stream); }
    Status synchronize(diopiStreamHandle_t stream) override { return device_->synchronize(stream); }
    [[nodiscard]] Result<std::unique_ptr<Event>> create_event() override { return device_->create_event(); }
    [[nodiscard]] std::string slowdown() override { return device_->slowdown(); }
    [[nodiscard]] Result<std::unique_ptr<ActivityRecording>> record_activities() override {
        return device_->record_activities();
    }
    Status copy_on_device(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) override {
        if (copies_ == nullptr) return not_implemented(std::string(name()) + " has no copies inside its memory");
        return copies_->copy_on_device(stream, dst, src, nbytes);
    }
    Status pause(diopiStreamHandle_t stream, double seconds) override {
        return copies_ == nullptr ? StreamCopies::pause(stream, seconds) : copies_->pause(stream, seconds);
    }

 protected:
    Device* device_;

 private:
    StreamCopies* copies_;  ///< interface of the device below; null if it has none
};

}  // namespace diopi
