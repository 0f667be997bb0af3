/// From the calls of a profile to the rows of a table: calls that are alike are summed up.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/statistics.hpp"
#include "core/status.hpp"
#include "report/profile_row.hpp"

namespace diopi {

/// What makes one row: a name, a name with input shapes and dtype, a single call, or a layer with those inside it.
enum class ProfileGrouping { kName, kShape, kCall, kLayer };

/// In the order of the first call of each; layers as a tree, each behind the one around it, whose calls and times are
/// those of the calls in it and in the layers inside: `self_` alone of the calls of no layer inside. Calls with a
/// trouble and calls without samples are left out. `comparisons` is empty or has one element per call of the profile,
/// null where the baseline has no such call; it must outlive the rows.
[[nodiscard]] std::vector<ProfileRow> profile_rows(const Profile& profile, ProfileGrouping grouping,
                                                   const std::vector<std::optional<SpeedComparison>>& comparisons = {});

/// Sorts by a key that `profile_sort_keys` lists, the largest first, names alphabetically, layers among those of one
/// layer around them; another key is refused with suggestions.
Status sort_profile_rows(std::vector<ProfileRow>& rows, std::string_view key);
[[nodiscard]] std::vector<std::string> profile_sort_keys();

}  // namespace diopi
