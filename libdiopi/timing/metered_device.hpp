/// MeteredDevice: a device that counts allocated and freed bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "runtime/device_decorator.hpp"

namespace diopi {

class MeteredDevice final : public DeviceDecorator {
 public:
    using DeviceDecorator::DeviceDecorator;

    [[nodiscard]] Result<std::shared_ptr<void>> allocate(size_t nbytes) override {
        auto memory = device_->allocate(nbytes);
        if (!memory.ok() || nbytes == 0) return memory;
        const auto bytes = static_cast<int64_t>(nbytes);
        meter_->allocated += bytes;
        return std::shared_ptr<void>(memory->get(), [meter = meter_, bytes, kept = *memory](void*) mutable {
            meter->freed += bytes;
            kept.reset();
        });
    }

    /// Bytes since the beginning.
    [[nodiscard]] int64_t allocated() const { return meter_->allocated; }
    [[nodiscard]] int64_t freed() const { return meter_->freed; }

 private:
    struct Meter {
        std::atomic<int64_t> allocated = 0, freed = 0;
    };
    /// Blocks may outlive the device.
    std::shared_ptr<Meter> meter_ = std::make_shared<Meter>();
};

}  // namespace diopi
