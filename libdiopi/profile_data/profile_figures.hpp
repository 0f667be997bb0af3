/// Statistics of a call's samples in a profile, and roof times.
#pragma once

#include "check/statistics.hpp"
#include "profile_data/profile_record.hpp"

namespace diopi {

/// The time that counts: the device's, if it has a clock of its own.
[[nodiscard]] inline double seconds_of(const TimedRun& run, bool has_device_time) {
    return has_device_time ? run.device : run.cpu;
}

/// If the cores were slower by more than this, another guest worked on them: the sample does not count.
inline constexpr double kCrowded = 1.08;

/// Order statistics of a call's samples, in seconds of the time that counts. Those of crowded moments are discarded,
/// unless there are no others.
[[nodiscard]] Summary summary_of(const ProfiledCall& call, bool has_device_time);
/// The samples of quiet moments, TimedRun::crowding up to `limit`, by their passes. A pass with only a few quiet
/// samples is left out.
[[nodiscard]] Passes quiet_passes(const ProfiledCall& call, bool has_device_time, double limit);

/// The samples that are used to judge a call of a finished profile.
struct JudgedPasses {
    Passes passes;
    bool is_crowded = false;  ///< too few were quiet: these are all
};
[[nodiscard]] JudgedPasses passes_of(const ProfiledCall& call, bool has_device_time);

/// The better value of each rate of two measurements of one device.
[[nodiscard]] Roofs better(Roofs a, const Roofs& b);

/// The best bytes per second for a call that moves this many: the rate of copies of that size and larger ones. 0: not
/// measured.
[[nodiscard]] double copy_roof(const Roofs& roofs, double bytes);
/// Operations per second with this dtype; 0: not measured.
[[nodiscard]] double matmul_roof(const Roofs& roofs, Dtype dtype);

/// The least time of one call: its bytes or its operations at their roof, the longer of the two. 0: no roof.
[[nodiscard]] double roof_seconds(const Roofs& roofs, const ProfiledCall& call);

/// A call must not exceed its roof by more than this factor; else its share is INVALID.
inline constexpr double kMostOfRoof = 1.05;

}  // namespace diopi
