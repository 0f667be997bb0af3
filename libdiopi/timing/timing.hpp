/// How long a call takes: warm-up, then samples until the median is known well enough (docs/profile.md).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "call/chain.hpp"
#include "core/status.hpp"
#include "profile_data/profile_figures.hpp"
#include "timing/crowding.hpp"

namespace diopi {

/// Work beside the samples, outside of their times.
struct SampleHooks {
    /// Drops what caches hold; asked between samples when all argument sets have been used.
    std::function<Status()> evict;
    /// Called while a device with a clock of its own works on a sample.
    std::function<void()> while_busy;
};

struct TimingOptions {
    double max_seconds = 2;  ///< for the samples of one pass over the call
    double max_warmup_seconds = 1;
    double wanted_interval = 0.005;  ///< half width of the median's 95% interval, relative
    int min_samples = 20;
    int min_short_samples = 100;  ///< for a call below kShortCall
    /// A device with a clock of its own does the call for so long before anything else: one that was idle takes its
    /// time to raise its frequency.
    double ramp_seconds = 0;
    SampleHooks hooks;
    /// Looks at the cores between samples, whose time counts only where nobody else works on them; null: they are not
    /// looked at. Must outlive the call.
    Crowding* crowding = nullptr;
    Crowding::Of cores = Crowding::Of::kAll;  ///< those that the call works on
};

/// What the frequency of a device takes to rise at most.
inline constexpr double kRampSeconds = 50e-3;

/// A pass over a call waits for quiet moments at most this many times its own time.
inline constexpr double kMostWaiting = 3;

/// Below this a sample is a batch of calls.
inline constexpr double kShortCall = 10e-6;

enum class Stop { kConverged, kPlateau, kTimeLimit };
/// "converged", "noise plateau", "time limit".
[[nodiscard]] std::string_view name(Stop stop);

/// The beginning of a profile, by the host's clock and, where the device has one of its own, by that.
class ProfileClock {
 public:
    /// Without `begin` it is now; with it, several processes may tell times since one moment.
    [[nodiscard]] static Result<ProfileClock> start(
        Context& context, std::optional<std::chrono::steady_clock::time_point> begin = std::nullopt);

    /// Seconds since then.
    [[nodiscard]] double now() const;
    [[nodiscard]] Result<double> device_time(const Event& event) const;
    [[nodiscard]] bool has_device_time() const { return device_start_ != nullptr; }

 private:
    std::chrono::steady_clock::time_point start_;
    std::unique_ptr<Event> device_start_;
    double device_offset_ = 0;  ///< of that event, in seconds since the beginning
};

/// The samples of one pass over a call. TimedRun::crowding is in seconds here.
struct Samples {
    std::vector<TimedRun> runs;
    int64_t batch = 1;   ///< calls per sample
    int64_t warmup = 0;  ///< calls before the first sample
    Stop stop = Stop::kConverged;
};

/// Times the call. Of several argument sets (not none) each call takes the next, so that it finds none of them in a
/// cache. In-out tensors keep changing.
[[nodiscard]] Result<Samples> time_call(const Chain& chain, std::span<Call* const> argument_sets, Context& context,
                                        const ProfileClock& clock, const TimingOptions& options);

/// One sample of `batch` calls: what time_call repeats.
class EventTimer {
 public:
    EventTimer(const Chain& chain, std::span<Call* const> argument_sets, Context& context, const ProfileClock& clock,
               SampleHooks hooks = {})
        : chain_(chain), sets_(argument_sets), context_(context), clock_(clock), hooks_(std::move(hooks)) {}
    Status create();
    [[nodiscard]] Result<TimedRun> measure(int64_t batch);
    /// Makes calls for so long by the host's clock; nothing where that is the clock that counts.
    Status keep_busy(double seconds);
    /// How many calls make a sample, `least` as far as there are argument sets: on a device with a clock of its own
    /// so many that the time in which it waits for the first launch is a small share. Runs some batches to know.
    [[nodiscard]] Result<int64_t> fitting_batch(int64_t least);
    /// How many it has made.
    [[nodiscard]] int64_t calls() const { return calls_; }

 private:
    [[nodiscard]] int64_t possible_batch(int64_t batch) const;
    Status run_batch(int64_t batch);

    const Chain& chain_;
    std::span<Call* const> sets_;
    Context& context_;
    const ProfileClock& clock_;
    SampleHooks hooks_;
    std::unique_ptr<Event> start_, end_;
    size_t next_ = 0;  ///< argument set
    int64_t calls_ = 0;
};

}  // namespace diopi
