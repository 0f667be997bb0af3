/// Compares a profile with an older one: which calls became slower (docs/profile.md, "--baseline").
#pragma once

#include "core/status.hpp"
#include "profile_data/profile_comparison.hpp"

namespace diopi {

/// Calls match by function, case, number, phase, layer, shapes and dtype. Refuses profiles that cannot be compared: a
/// hot and a cold one, or of different clocks.
[[nodiscard]] Result<ProfileComparison> compare_profiles(const Profile& base, const Profile& now);

}  // namespace diopi
