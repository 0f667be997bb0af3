/// One pass over a call: memory of its own for every tensor, warm-up, samples. This is the work of a profile's worker.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>
#include <vector>

#include "profile/profile_options.hpp"
#include "profile_data/profile_record.hpp"
#include "step/placed_call.hpp"
#include "timing/eviction.hpp"
#include "timing/slowdown_watch.hpp"

namespace diopi {

class ProfileSampler {
 public:
    /// `quietest`: Profile::quietest of earlier passes.
    ProfileSampler(const ProfileOptions& options, Context& context, double quietest);

    /// Samples have times relative to `begin`, which other processes share.
    Status start(std::chrono::steady_clock::time_point begin);
    [[nodiscard]] bool has_device_time() const { return clock_.has_device_time(); }

    [[nodiscard]] double quietest() const { return crowding_.quietest(); }

    /// The events of the device since the last call: activities, and slowdowns.
    [[nodiscard]] Profile take_events();

    /// Adds the results of one pass to `call`, which has those of earlier passes; TimedRun::crowding is in seconds.
    Status pass(const Step& step, ProfiledCall& call, int64_t pass);

 private:
    struct Sets {
        std::vector<std::unique_ptr<Placement>> placements;
        std::vector<PlacedCall> placed;
        std::vector<Call*> calls;
        bool need_eviction = false;
    };

    [[nodiscard]] bool looks_at_cores() const { return !has_device_time() && !options_.schedule; }
    Result<Sets> place(const Step& step, const ProfiledCall& call, int64_t pass);
    Status describe(const Step& step, ProfiledCall& call);
    Status show(const Step& step);
    Status record(const Step& step, std::string_view name);
    Status sample(const Step& step, ProfiledCall& call, int64_t pass);
    [[nodiscard]] SampleHooks hooks(bool need_eviction);
    Status iterate(const Step& step, ProfiledCall& call, int64_t iteration);

    const ProfileOptions& options_;
    Context& context_;
    Chain chain_;
    ProfileClock clock_;
    int64_t cache_bytes_;
    Eviction eviction_;
    Crowding crowding_;
    SlowdownWatch slowdowns_;
    double ramp_seconds_ = kRampSeconds;  ///< before the next call; 0 after the first one
    Profile events_;
};

/// Whether too many of the call's passes were crowded, and more of them are possible.
[[nodiscard]] bool wants_passes(const ProfiledCall& call, const Profile& profile, const ProfileOptions& options);

}  // namespace diopi
