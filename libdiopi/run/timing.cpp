#include "run/timing.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

namespace diopi {

namespace {

constexpr int kLeastWarmup = 3;
constexpr size_t kAgreeing = 5;
constexpr double kAgreement = 0.01;
/// A batch is made long enough that the clock's own cost does not count.
constexpr double kBatchSeconds = 50e-6;

/// By events of the stream.
class EventTimer {
 public:
    EventTimer(const Chain& chain, Call& call, Context& context) : chain_(chain), call_(call), context_(context) {}

    Status create() {
        auto start = context_.device->create_event();
        if (!start.ok()) return start.status();
        auto end = context_.device->create_event();
        if (!end.ok()) return end.status();
        start_ = std::move(*start);
        end_ = std::move(*end);
        return {};
    }

    /// Seconds per call over `batch` calls.
    Result<double> measure(int64_t batch) {
        if (Status s = start_->record(context_.stream); !s.ok()) return s.error();
        for (int64_t i = 0; i < batch; ++i) {
            const Outcome outcome = chain_.run(call_, context_);
            if (!outcome.ok()) return failed(outcome.message);
            context_.release();
        }
        if (Status s = end_->record(context_.stream); !s.ok()) return s.error();
        if (Status s = end_->synchronize(); !s.ok()) return s.error();
        auto ms = end_->elapsed_ms_since(*start_);
        if (!ms.ok()) return ms.error();
        return *ms * 1e-3 / static_cast<double>(batch);
    }

 private:
    const Chain& chain_;
    Call& call_;
    Context& context_;
    std::unique_ptr<Event> start_, end_;
};

bool agree(const std::vector<double>& times) {
    if (times.size() < kAgreeing) return false;
    const auto [low, high] = std::minmax_element(times.end() - kAgreeing, times.end());
    return *high - *low <= kAgreement * *low;
}

/// Calls until the last five agree within 1%, or time is up.
Result<std::vector<double>> warm_up(EventTimer& timer, double max_seconds) {
    std::vector<double> times;
    double spent = 0;
    while (times.size() < kLeastWarmup || (spent < max_seconds && !agree(times))) {
        auto seconds = timer.measure(1);
        if (!seconds.ok()) return seconds.error();
        times.push_back(*seconds);
        spent += *seconds;
        if (times.size() >= kLeastWarmup && spent >= max_seconds) break;
    }
    return times;
}

bool converged(const Timing& timing, double wanted) {
    return std::max(timing.high - timing.median, timing.median - timing.low) <= wanted * timing.median;
}

}  // namespace

std::string_view name(Stop stop) { return stop == Stop::kConverged ? "converged" : "time limit"; }

Timing summarize(std::vector<double> samples) {
    std::ranges::sort(samples);
    const auto n = static_cast<double>(samples.size());
    const auto at = [&](double rank) { return samples[static_cast<size_t>(std::clamp(rank, 0.0, n - 1))]; };
    const auto quantile = [&](double q) {
        const double rank = q * (n - 1);
        const double below = at(std::floor(rank));
        return below + (at(std::ceil(rank)) - below) * (rank - std::floor(rank));
    };
    Timing timing;
    timing.min = samples.front();
    timing.q1 = quantile(0.25);
    timing.median = quantile(0.5);
    timing.q3 = quantile(0.75);
    // The ranks between which the median lies with 95%: n/2 -+ 0.98 sqrt(n), by the binomial distribution.
    timing.low = at(std::floor(n / 2 - 0.98 * std::sqrt(n)));
    timing.high = at(std::ceil(n / 2 + 0.98 * std::sqrt(n)));
    timing.samples = static_cast<int64_t>(samples.size());
    return timing;
}

Result<Timing> time_call(const Chain& chain, Call& call, Context& context, const TimingOptions& options) {
    EventTimer timer(chain, call, context);
    if (Status s = timer.create(); !s.ok()) return s.error();
    auto warm = warm_up(timer, options.max_warmup_seconds);
    if (!warm.ok()) return warm.error();
    const double once = *std::min_element(warm->begin(), warm->end());
    const bool is_short = once < kShortCall;
    const int64_t batch = is_short ? static_cast<int64_t>(std::ceil(kBatchSeconds / std::max(once, 1e-9))) : 1;
    const auto least = static_cast<size_t>(is_short ? options.min_short_samples : options.min_samples);

    std::vector<double> samples;
    Timing timing;
    double spent = 0;
    size_t next_look = least;
    for (;;) {
        auto seconds = timer.measure(batch);
        if (!seconds.ok()) return seconds.error();
        samples.push_back(*seconds);
        spent += *seconds * static_cast<double>(batch);
        const bool late = spent >= options.max_seconds && samples.size() >= 3;
        if (samples.size() < next_look && !late) continue;
        timing = summarize(samples);
        timing.stop = converged(timing, options.wanted_interval) ? Stop::kConverged : Stop::kTimeLimit;
        if (late || (timing.stop == Stop::kConverged && samples.size() >= least)) break;
        next_look = samples.size() + std::max<size_t>(samples.size() / 4, 10);
    }
    timing.batch = batch;
    timing.warmup = static_cast<int64_t>(warm->size());
    return timing;
}

}  // namespace diopi
