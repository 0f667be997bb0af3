#include "intercept/call_timer.hpp"

namespace diopi {

Status CallTimer::prepare(Device& device) {
    if (device_ == &device) return {};
    auto start = device.create_event();
    if (!start.ok()) return start.status();
    auto end = device.create_event();
    if (!end.ok()) return end.status();
    start_ = std::move(*start);
    end_ = std::move(*end);
    device_ = &device;
    return {};
}

Outcome CallTimer::around(Call& call, Context& context, const Next& next) {
    Status s = prepare(*context.device);
    if (s.ok()) s = start_->record(context.stream);
    if (!s.ok()) return {diopiErrorOccurred, s.message()};
    Outcome outcome = next(call, context);
    if (!outcome.ok()) return outcome;
    s = end_->record(context.stream);
    if (s.ok()) s = end_->synchronize();
    if (!s.ok()) return {diopiErrorOccurred, s.message()};
    const auto elapsed = end_->elapsed_ms_since(*start_);
    if (!elapsed.ok()) return {diopiErrorOccurred, elapsed.error().message};
    sink_(call, *elapsed * 1e-3);
    return outcome;
}

}  // namespace diopi
