#include "timing/timing.hpp"

#include <algorithm>
#include <cmath>

#include "check/statistics.hpp"
#include "core/stopwatch.hpp"

namespace diopi {

namespace {

constexpr int kLeastWarmup = 3;
constexpr size_t kAgreeing = 5;
constexpr double kAgreement = 0.01;
/// A batch is made long enough that the clock's own cost does not count.
constexpr double kBatchSeconds = 50e-6;
/// A device's own clock also runs while the host makes the first call of a batch, some 5 to 10 us: every
/// batch is so long that this is a small share.
constexpr double kDeviceBatchSeconds = 200e-6;
constexpr size_t kFewestSamples = 3;
/// The time of samples between two measurements of crowding.
constexpr double kBetweenMeasurements = 1e-3;

bool agree(const std::vector<double>& times) {
    if (times.size() < kAgreeing) return false;
    const auto [low, high] = std::minmax_element(times.end() - kAgreeing, times.end());
    return *high - *low <= kAgreement * *low;
}

int64_t calls_in(double batch_seconds, double once) {
    return static_cast<int64_t>(std::ceil(batch_seconds / std::max(once, 1e-9)));
}

/// Makes calls until the last five agree within 1%, or time is up.
Result<std::vector<double>> warm_up(EventTimer& watch, bool has_device_time, const TimingOptions& options) {
    std::vector<double> times;
    double spent = 0;
    while (times.size() < kLeastWarmup || (spent < options.max_warmup_seconds && !agree(times))) {
        auto run = watch.measure(1);
        if (!run.ok()) return run.error();
        times.push_back(seconds_of(*run, has_device_time));
        spent += times.back();
    }
    return times;
}

/// Assigns the crowding of the cores to the samples.
class CrowdingOfSamples {
 public:
    struct Seen {
        std::span<const TimedRun> quiet;  ///< those since the last measurement; none if it was crowded
        double seconds = 0;               ///< their time
    };

    explicit CrowdingOfSamples(const TimingOptions& options)
        : crowding_(options.crowding), cores_(options.cores), before_(crowding_ == nullptr ? 0 : measure()) {}

    /// Nullopt if it is too early for a measurement.
    std::optional<Seen> after(Samples& samples, bool own_clock) {
        seconds_ += seconds_of(samples.runs.back(), own_clock) * static_cast<double>(samples.batch);
        if (crowding_ != nullptr && seconds_ < kBetweenMeasurements) return std::nullopt;
        const std::span<TimedRun> fresh = std::span(samples.runs).subspan(seen_);
        Seen seen{fresh, seconds_};
        if (crowding_ != nullptr) {
            const double now = measure(), worse = std::max(before_, now);
            for (TimedRun& run : fresh) run.crowding = worse;
            if (crowding_->is_crowded(worse)) seen.quiet = {};
            before_ = now;
        }
        seen_ = samples.runs.size();
        seconds_ = 0;
        return seen;
    }

 private:
    double measure() { return crowding_->measure(cores_); }

    Crowding* crowding_;
    Crowding::Of cores_;
    double before_;
    double seconds_ = 0;
    size_t seen_ = 0;
};

}  // namespace

std::string_view name(Stop stop) {
    switch (stop) {
        case Stop::kConverged:
            return "converged";
        case Stop::kPlateau:
            return "noise plateau";
        case Stop::kTimeLimit:
            break;
    }
    return "time limit";
}

Result<ProfileClock> ProfileClock::start(Context& context, std::optional<std::chrono::steady_clock::time_point> begin) {
    ProfileClock clock;
    if (!context.device->is_host()) {
        auto event = context.device->create_event();
        if (!event.ok()) return event.error();
        clock.device_start_ = std::move(*event);
        Status s = clock.device_start_->record(context.stream);
        if (s.ok()) s = clock.device_start_->synchronize();
        if (!s.ok()) return s.error();
    }
    const auto now = std::chrono::steady_clock::now();
    clock.start_ = begin.value_or(now);
    clock.device_offset_ = std::chrono::duration<double>(now - clock.start_).count();
    return clock;
}

double ProfileClock::now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

Result<double> ProfileClock::device_time(const Event& event) const {
    auto ms = event.elapsed_ms_since(*device_start_);
    if (!ms.ok()) return ms;
    return device_offset_ + *ms * 1e-3;
}

Status EventTimer::create() {
    if (!clock_.has_device_time()) return {};
    auto start = context_.device->create_event();
    if (!start.ok()) return start.status();
    auto end = context_.device->create_event();
    if (!end.ok()) return end.status();
    start_ = std::move(*start);
    end_ = std::move(*end);
    return {};
}

Status EventTimer::run_batch(int64_t batch) {
    for (int64_t i = 0; i < batch; ++i) {
        const Outcome outcome = chain_.run(*sets_[next_], context_);
        if (!outcome.ok()) return failed(outcome.message);
        context_.release();
        if (++next_ == sets_.size()) next_ = 0;
    }
    calls_ += batch;
    return {};
}

int64_t EventTimer::possible_batch(int64_t batch) const {
    return sets_.size() > 1 ? std::min(batch, static_cast<int64_t>(sets_.size())) : batch;
}

Result<int64_t> EventTimer::fitting_batch(int64_t least) {
    int64_t batch = possible_batch(least);
    if (!clock_.has_device_time()) return batch;
    // The first estimate is from few calls, in which the first launch has a large share.
    for (int round = 0; round < 2; ++round) {
        const auto run = measure(batch);
        if (!run.ok()) return run.error();
        // A simulated device may count less time than the host takes, and no launch: then there is no share to reduce.
        const int64_t wanted = calls_in(kDeviceBatchSeconds, std::max(run->device, run->cpu));
        if (wanted <= batch) break;
        batch = possible_batch(wanted);
    }
    return batch;
}

Status EventTimer::keep_busy(double seconds) {
    if (!clock_.has_device_time() || seconds <= 0) return {};
    const Stopwatch watch;
    auto batch = fitting_batch(1);
    if (!batch.ok()) return batch.status();
    while (watch.seconds() < seconds) {
        if (const auto run = measure(*batch); !run.ok()) return run.status();
    }
    return {};
}

Result<TimedRun> EventTimer::measure(int64_t batch) {
    if (sets_.size() > 1 && next_ + static_cast<size_t>(batch) > sets_.size()) next_ = 0;
    if (hooks_.evict && next_ == 0) {
        if (Status s = hooks_.evict(); !s.ok()) return s.error();
    }
    const auto count = static_cast<double>(batch);
    TimedRun run;
    // The device's clock never begins before the host's: the launch comes first.
    run.start = clock_.now();
    if (start_ != nullptr) {
        if (Status s = start_->record(context_.stream); !s.ok()) return s.error();
    }
    const double called = start_ == nullptr ? run.start : clock_.now();
    if (Status s = run_batch(batch); !s.ok()) return s.error();
    run.cpu = (clock_.now() - called) / count;
    if (start_ == nullptr) return run;
    Status s = end_->record(context_.stream);
    if (s.ok() && hooks_.while_busy) hooks_.while_busy();
    if (s.ok()) s = end_->synchronize();
    if (!s.ok()) return s.error();
    const auto ms = end_->elapsed_ms_since(*start_);
    if (!ms.ok()) return ms.error();
    const auto begin = clock_.device_time(*start_);
    if (!begin.ok()) return begin.error();
    run.device = *ms * 1e-3 / count;
    run.device_start = *begin;
    return run;
}

Result<Samples> time_call(const Chain& chain, std::span<Call* const> argument_sets, Context& context,
                          const ProfileClock& clock, const TimingOptions& options) {
    const bool own_clock = clock.has_device_time();
    EventTimer watch(chain, argument_sets, context, clock, options.hooks);
    Status s = watch.create();
    if (s.ok()) s = watch.keep_busy(options.ramp_seconds);
    if (!s.ok()) return s.error();
    const int64_t before = watch.calls();
    auto warm = warm_up(watch, own_clock, options);
    if (!warm.ok()) return warm.error();
    const double once = *std::min_element(warm->begin(), warm->end());
    const bool is_short = once < kShortCall;
    auto batch = watch.fitting_batch(is_short ? calls_in(kBatchSeconds, once) : 1);
    if (!batch.ok()) return batch.error();
    Samples samples;
    samples.warmup = watch.calls() - before;
    samples.batch = *batch;
    const auto least = static_cast<size_t>(is_short ? options.min_short_samples : options.min_samples);

    std::vector<double> times;  // times of quiet moments
    PlateauWatch plateau;
    CrowdingOfSamples crowding(options);
    double spent = 0, lost = 0;
    size_t next_check = least;
    for (;;) {
        auto run = watch.measure(samples.batch);
        if (!run.ok()) return run.error();
        samples.runs.push_back(*run);
        const auto seen = crowding.after(samples, own_clock);
        if (!seen) continue;
        for (const TimedRun& quiet : seen->quiet) times.push_back(seconds_of(quiet, own_clock));
        (seen->quiet.empty() ? lost : spent) += seen->seconds;
        const bool is_over = spent >= options.max_seconds || lost >= kMostWaiting * options.max_seconds;
        const bool late = is_over && samples.runs.size() >= kFewestSamples;
        if (times.size() < next_check && !late) continue;
        const double width = summarize(times).half_width();
        const bool enough = times.size() >= least;
        samples.stop = Stop::kTimeLimit;
        if (enough && plateau.stalled(times.size(), width)) samples.stop = Stop::kPlateau;
        if (!times.empty() && width <= options.wanted_interval) samples.stop = Stop::kConverged;
        if (late || (enough && samples.stop != Stop::kTimeLimit)) break;
        next_check = times.size() + std::max<size_t>(times.size() / 4, 10);
    }
    return samples;
}

}  // namespace diopi
