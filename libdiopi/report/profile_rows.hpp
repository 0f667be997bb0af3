/// Makes the rows of a table from the calls of a profile: equal calls are added up.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/statistics.hpp"
#include "core/status.hpp"
#include "report/profile_row.hpp"

namespace diopi {

/// The unit of a row: a name, a name with input shapes and dtype, a single call, or a layer with those inside it.
enum class ProfileGrouping { kName, kShape, kCall, kLayer };

/// In the order of their first calls; layers form a tree, each after the layer around it. Calls and times of a layer
/// include those of the layers inside, except for `self_` times. Calls with an error and calls without samples are
/// left out. `comparisons` is empty or has one element per call of the profile, null if the baseline has no such call;
/// it must outlive the rows.
[[nodiscard]] std::vector<ProfileRow> profile_rows(const Profile& profile, ProfileGrouping grouping,
                                                   const std::vector<std::optional<SpeedComparison>>& comparisons = {});

/// Sorts by a key in `profile_sort_keys`, the largest first, names alphabetically, layers within the layer around them;
/// another key is refused with suggestions.
Status sort_profile_rows(std::vector<ProfileRow>& rows, std::string_view key);
[[nodiscard]] std::vector<std::string> profile_sort_keys();

}  // namespace diopi
