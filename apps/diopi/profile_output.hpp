/// What diopi profile prints.
#pragma once

#include <optional>
#include <string>

#include "report/adaptor_table.hpp"
#include "report/profile_rows.hpp"
#include "run/profile_baseline.hpp"
#include "store/profile_record.hpp"

namespace diopi {

struct ProfileOutput {
    ProfileGrouping grouping = ProfileGrouping::kCall;
    std::string sort_by = "cpu_time_total";
    int64_t row_limit = 0;
    bool memory = false;
    bool quiet = false;
    int64_t not_implemented = 0;  ///< cases that did not run
    AdaptedFunctions adapted = {};
};

/// The table and the lines below it, on stdout.
Status print_profile(const Profile& profile, const std::optional<ProfileComparison>& comparison,
                     const ProfileOutput& output);

/// The same as one JSON text, with every call's statistics.
void print_profile_json(const Profile& profile, const std::optional<ProfileComparison>& comparison,
                        const ProfileOutput& output);

}  // namespace diopi
