/// Compares a profile with an older one: the calls that became slower (docs/profile.md, "--baseline").
#pragma once

#include "core/status.hpp"
#include "profile_data/profile_comparison.hpp"

namespace diopi {

/// Calls match by function, case, number, phase, layer, shapes and dtype. Refuses profiles that are not comparable: a
/// hot and a cold one, or ones with different clocks.
[[nodiscard]] Result<ProfileComparison> compare_profiles(const Profile& base, const Profile& now);

}  // namespace diopi
