/// Compares a profile with an older one, or with that of another implementation (docs/profile.md, "--baseline" and
/// "--against").
#pragma once

#include <string_view>

#include "core/status.hpp"
#include "profile_data/profile_comparison.hpp"

namespace diopi {

/// Refuses a baseline that was measured in another mode, hot or cold, than a run.
[[nodiscard]] Status check_mode(const Profile& base, std::string_view mode);

/// Calls match by function, case, number, phase, layer, shapes and dtype. Refuses profiles that are not comparable:
/// ones with different modes or clocks.
[[nodiscard]] Result<ProfileComparison> compare_profiles(const Profile& base, const Profile& now);

/// Compares the calls of two implementations whose passes alternated. Each one's time is that of its own device.
[[nodiscard]] ProfileComparison compare_side_by_side(const Profile& own, const Profile& against);

}  // namespace diopi
