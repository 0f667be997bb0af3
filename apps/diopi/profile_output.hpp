/// What diopi profile prints.
#pragma once

#include <optional>
#include <string>

#include "backend/backend.hpp"
#include "profile/profile_baseline.hpp"
#include "profile_data/profile_record.hpp"
#include "report/adaptor_table.hpp"
#include "report/profile_rows.hpp"

namespace diopi {

struct ProfileOutput {
    ProfileGrouping grouping = ProfileGrouping::kCall;
    std::string sort_by = "cpu_time_total";
    int64_t row_limit = 0;
    bool memory = false;
    bool quiet = false;
    int64_t not_implemented = 0;  ///< cases that did not run
    double budget_seconds = 0;    ///< after which no pass began; 0: there was no such limit
    int64_t passes = 0;           ///< that were wanted
    AdaptedFunctions adapted = {};
};

/// The table and the lines below it, on stdout.
Status print_profile(const Profile& profile, const std::optional<ProfileComparison>& comparison,
                     const ProfileOutput& output);

/// The roofs of a backend: by their sizes, and products by dtype. `tf32`: those of the same backend with its float32
/// products in TF32; null: it has none, or they are the first ones.
void print_roofs(const Backend& backend, const Roofs& roofs, const Roofs* tf32, bool json);

/// The same as one JSON text, with every call's statistics.
void print_profile_json(const Profile& profile, const std::optional<ProfileComparison>& comparison,
                        const ProfileOutput& output);

}  // namespace diopi
