#include "timing/timing_interceptor.hpp"

namespace diopi {

namespace {

/// An event that marks the stream's current time; null if the device has no events.
std::unique_ptr<Event> marked(Context& context) {
    auto event = context.device->create_event();
    if (!event.ok() || !(*event)->record(context.stream).ok()) return nullptr;
    return std::move(*event);
}

}  // namespace

Outcome TimingInterceptor::around(Call& call, Context& context, const Next& next) {
    const auto position = static_cast<int64_t>(noted_.size());
    noted_.push_back({call.row, call.origin, {}, running_, true});
    const bool own_clock = clock_->has_device_time();
    Pair pair;
    const double launched = clock_->now();
    if (own_clock) pair = {static_cast<size_t>(position), marked(context), nullptr};
    running_ = position;
    const double start = own_clock ? clock_->now() : launched;
    Outcome outcome = next(call, context);
    const double end = clock_->now();
    Noted& noted = noted_[static_cast<size_t>(position)];
    running_ = noted.parent;
    noted.run.start = launched;
    noted.run.cpu = end - start;
    noted.run.pass = pass_;
    noted.ok = outcome.ok();
    if (own_clock) {
        pair.end = marked(context);
        events_.push_back(std::move(pair));
    }
    return outcome;
}

Result<std::vector<TimingInterceptor::Noted>> TimingInterceptor::collect() {
    for (const Pair& pair : events_) {
        if (pair.start == nullptr || pair.end == nullptr) return failed("the device has no event to time a call by");
        if (Status s = pair.end->synchronize(); !s.ok()) return s.error();
        const auto ms = pair.end->elapsed_ms_since(*pair.start);
        if (!ms.ok()) return ms.error();
        const auto begin = clock_->device_time(*pair.start);
        if (!begin.ok()) return begin.error();
        noted_[pair.call].run.device = *ms * 1e-3;
        noted_[pair.call].run.device_start = *begin;
    }
    events_.clear();
    running_ = -1;
    const size_t room = noted_.capacity();
    std::vector<Noted> collected = std::move(noted_);
    noted_.clear();
    noted_.reserve(room);
    return collected;
}

}  // namespace diopi
