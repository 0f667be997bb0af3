/// The time of work on a context's stream.
#pragma once

#include <memory>

#include "core/stopwatch.hpp"
#include "runtime/context.hpp"

namespace diopi {

/// Runs from its construction: by the device's events if the device has its own clock, else by the steady clock.
class DeviceTimer {
 public:
    explicit DeviceTimer(Context& context) : context_(context) {
        if (context.device->is_host()) return;
        auto start = context.device->create_event();
        auto end = context.device->create_event();
        if (!start.ok() || !end.ok() || !(*start)->record(context.stream).ok()) return;
        start_ = std::move(*start);
        end_ = std::move(*end);
    }

    /// Waits for the enqueued work.
    [[nodiscard]] double seconds() const {
        if (end_ == nullptr || !end_->record(context_.stream).ok() || !end_->synchronize().ok())
            return watch_.seconds();
        const auto elapsed = end_->elapsed_ms_since(*start_);
        return elapsed.ok() ? *elapsed * 1e-3 : watch_.seconds();
    }

 private:
    Context& context_;
    Stopwatch watch_;
    std::unique_ptr<Event> start_, end_;
};

}  // namespace diopi
