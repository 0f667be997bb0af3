/// What follows from the record of a profile: statistics of a call's samples, and what its roofs allow.
#pragma once

#include "check/statistics.hpp"
#include "profile_data/profile_record.hpp"

namespace diopi {

/// The time that counts: the device's, where it has one of its own.
[[nodiscard]] inline double seconds_of(const TimedRun& run, bool has_device_time) {
    return has_device_time ? run.device : run.cpu;
}

/// Where the cores were slower by more than this, somebody else worked on them: the sample does not count.
inline constexpr double kCrowded = 1.08;

/// Order statistics of a call's samples, in seconds of the time that counts. Those of crowded moments are discarded,
/// unless there are no others.
[[nodiscard]] Summary summary_of(const ProfiledCall& call, bool has_device_time);
/// The samples of quiet moments, TimedRun::crowding up to `limit`, by the passes in which they were taken. A pass that
/// was crowded but for a few samples is left out.
[[nodiscard]] Passes quiet_passes(const ProfiledCall& call, bool has_device_time, double limit);

/// By what a call of a profile that is done is judged.
struct JudgedPasses {
    Passes passes;
    bool is_crowded = false;  ///< hardly one had quiet moments: these are all
};
[[nodiscard]] JudgedPasses passes_of(const ProfiledCall& call, bool has_device_time);

/// Of two measurements of one device, the better figure each.
[[nodiscard]] Roofs better(Roofs a, const Roofs& b);

/// Bytes per second at best for a call that moves so many: what copies of that size and larger ones reached. 0: not
/// measured.
[[nodiscard]] double copy_roof(const Roofs& roofs, double bytes);
/// Operations per second with this dtype; 0: not measured.
[[nodiscard]] double matmul_roof(const Roofs& roofs, Dtype dtype);

/// What one call must take at least: its bytes or its operations at their roof, whichever is longer. 0: no roof.
[[nodiscard]] double roof_seconds(const Roofs& roofs, const ProfiledCall& call);

/// A roof that a call beats by more than this share is no roof: the figure is INVALID.
inline constexpr double kMostOfRoof = 1.05;

}  // namespace diopi
