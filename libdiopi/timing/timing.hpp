/// Times a call: warm-up, then samples until the median is known well enough (docs/profile.md).
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
    /// Evicts the caches; called between samples when all argument sets have been used.
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
    /// A device with a clock of its own runs the call for this time first: an idle device needs
    /// time to raise its frequency.
    double ramp_seconds = 0;
    SampleHooks hooks;
    /// Measures the cores between samples, which count only if no other guest works on them; null: no
    /// measurement. Must outlive the call.
    Crowding* crowding = nullptr;
    Crowding::Of cores = Crowding::Of::kAll;  ///< the cores that the call works on
};

/// The longest time until the frequency of a device has risen.
inline constexpr double kRampSeconds = 50e-3;

/// A pass over a call waits for quiet moments at most this many times its own time.
inline constexpr double kMostWaiting = 3;

/// Below this a sample is a batch of calls.
inline constexpr double kShortCall = 10e-6;

enum class Stop { kConverged, kPlateau, kTimeLimit };
/// "converged", "noise plateau", "time limit".
[[nodiscard]] std::string_view name(Stop stop);

/// The beginning of a profile, on the host's clock and, if the device has one of its own, on that one.
class ProfileClock {
 public:
    /// Without `begin` it is now; with it, several processes can have times since the same moment.
    [[nodiscard]] static Result<ProfileClock> start(
        Context& context, std::optional<std::chrono::steady_clock::time_point> begin = std::nullopt);

    /// Seconds since the beginning.
    [[nodiscard]] double now() const;
    [[nodiscard]] Result<double> device_time(const Event& event) const;
    [[nodiscard]] bool has_device_time() const { return device_start_ != nullptr; }

 private:
    std::chrono::steady_clock::time_point start_;
    std::unique_ptr<Event> device_start_;
    double device_offset_ = 0;  ///< time of that event, in seconds since the beginning
};

/// The samples of one pass over a call. TimedRun::crowding is in seconds here.
struct Samples {
    std::vector<TimedRun> runs;
    int64_t batch = 1;   ///< calls per sample
    int64_t warmup = 0;  ///< calls before the first sample
    Stop stop = Stop::kConverged;
};

/// Times the call. With several argument sets (at least one) each call takes the next one, so that none of them is
/// in a cache. In-out tensors keep changing.
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
    /// Makes calls for this time on the host's clock; does nothing if the host's clock is the one that counts.
    Status keep_busy(double seconds);
    /// The number of calls in a sample, at least `least` if there are enough argument sets: on a device with a
    /// clock of its own, enough that its wait for the first launch is a small share. Runs some batches to find it.
    [[nodiscard]] Result<int64_t> fitting_batch(int64_t least);
    /// The number of calls so far.
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
    size_t next_ = 0;  ///< next argument set
    int64_t calls_ = 0;
};

}  // namespace diopi
