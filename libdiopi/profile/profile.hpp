/// Profiles the calls of cases: pass after pass over all of them, so that each call is measured under several states of
/// the machine (docs/profile.md).
#pragma once

#include <vector>

#include "cases/case.hpp"
#include "profile/profile_options.hpp"
#include "profile_data/profile_figures.hpp"

namespace diopi {

/// Each pass runs in a worker process of its own; this process must not have started threads. Stops early when
/// interrupted() turns true. A call that fails has the reason in its `error`.
[[nodiscard]] Result<Profile> profile_cases(const std::vector<Case>& cases, const ProfileOptions& options);

/// The same with another implementation: each pass is followed by a pass of its calls, on the same inputs, in a process
/// of its own. Calls that it has not, or that fail, have an error there. Not for a schedule.
[[nodiscard]] Result<ProfilePair> profile_side_by_side(const std::vector<Case>& cases, const ProfileOptions& options,
                                                       const Backend& against);

/// The best rates of the backend, with products in every floating dtype: measured twice, each time in a worker process
/// with the time limit `timeout_s`.
[[nodiscard]] Result<Roofs> profile_roofs(const Backend& backend, double timeout_s);

}  // namespace diopi
