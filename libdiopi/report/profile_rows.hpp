/// From the calls of a profile to the rows of a table: calls that are alike are summed up.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/statistics.hpp"
#include "core/status.hpp"
#include "profile_data/profile_record.hpp"

namespace diopi {

/// What makes one row: a name, a name with input shapes and dtype, a single call, or a layer with those inside it.
enum class ProfileGrouping { kName, kShape, kCall, kLayer };

/// All times are seconds of one pass: the sum of the calls' medians.
struct ProfileRow {
    std::string name, phase, dtype, shapes, case_id;
    int depth = 0;    ///< of a layer: how many layers are around it; its row stands behind theirs
    size_t rank = 0;  ///< by the key that rows are sorted by; 0: the largest
    int64_t calls = 0;
    double self_cpu = 0, total_cpu = 0;         ///< without and with the calls inside
    double self_device = 0, total_device = 0;   ///< 0 without a device's time
    int64_t self_memory = 0, total_memory = 0;  ///< allocated and not freed
    int64_t allocated = 0, freed = 0;
    double time = 0;  ///< the calls' own total by the clock that counts
    double roof = 0;  ///< what the machine needs for them at least; 0: no roof
    double flops = 0, bytes = 0;
    double median = 0;       ///< of one call: the median over calls
    double uncertainty = 0;  ///< half the 95% interval, relative
    bool launch_bound = false, invalid = false;
    /// Against a baseline, of the row's only call or of its worst one; null without one.
    const SpeedComparison* comparison = nullptr;

    /// 1: as fast as the roof allows.
    [[nodiscard]] double share_of_roof() const { return time > 0 ? roof / time : 0; }
};

/// In the order of the first call of each; layers as a tree, each behind the one around it, whose calls and times are
/// those of the calls in it and in the layers inside: `self_` alone of the calls of no layer inside. Calls with a
/// trouble and calls without samples are left out. `comparisons` is empty or has one element per call of the profile,
/// null where the baseline has no such call; it must outlive the rows.
[[nodiscard]] std::vector<ProfileRow> profile_rows(const Profile& profile, ProfileGrouping grouping,
                                                   const std::vector<std::optional<SpeedComparison>>& comparisons = {});

/// "[[2, 3], []]"
[[nodiscard]] std::string shapes_text(const ProfiledCall& call);

/// Sorts by a key that `profile_sort_keys` lists, the largest first, names alphabetically, layers among those of one
/// layer around them; another key is refused with suggestions.
Status sort_profile_rows(std::vector<ProfileRow>& rows, std::string_view key);
[[nodiscard]] std::vector<std::string> profile_sort_keys();

}  // namespace diopi
