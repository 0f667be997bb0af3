/// The comparison of a profile with an older one: the calls that became slower (docs/profile.md, "--baseline").
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "check/statistics.hpp"
#include "profile_data/profile_record.hpp"

namespace diopi {

struct ProfileComparison {
    /// One per call of the new profile; null if the old one has no such call, or one of them has no samples.
    std::vector<std::optional<SpeedComparison>> calls;
    int64_t compared = 0, slower = 0, faster = 0, same = 0, ambiguous = 0;
    int64_t unknown = 0;  ///< calls that the baseline does not have
    int64_t gone = 0;     ///< calls of the baseline that the new profile does not have
    /// The slowdown of the host itself, from the pace in both profiles; 1 if they have none.
    double drift = 1;
};

}  // namespace diopi
