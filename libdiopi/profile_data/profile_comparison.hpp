/// The comparison of a profile with an older one, or with that of another implementation: the calls that are slower
/// (docs/profile.md, "--baseline" and "--against").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "check/statistics.hpp"
#include "profile_data/profile_record.hpp"

namespace diopi {

struct ProfileComparison {
    /// One per call of the new profile; null if the old one has no such call, or one of them has no samples.
    std::vector<std::optional<SpeedComparison>> calls;
    int64_t compared = 0, slower = 0, faster = 0, same = 0, ambiguous = 0;
    int64_t unknown = 0;        ///< calls that the baseline does not have
    int64_t gone = 0;           ///< calls of the baseline that the new profile does not have
    double geometric_mean = 0;  ///< of all ratios; 0 without calls
    std::string against;        ///< the other implementation; empty: a baseline
    double empty_call = 0;      ///< seconds of its call on one element; 0: not measured
    std::string error;          ///< the first reason why it has no time for a call
    /// The slowdown of the host itself, from the pace in both profiles; 1 if they have none.
    double drift = 1;
};

}  // namespace diopi
