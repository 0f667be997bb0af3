/// The parts of a profile's report around its table: the whole text, JSON, the standard's own lines, the roofs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profile_data/profile_comparison.hpp"
#include "report/adaptor_table.hpp"
#include "report/profile_rows.hpp"
#include "report/terminal.hpp"

namespace diopi {

/// Selects the parts of a profile to show, and adds facts about its run.
struct ProfileView {
    ProfileGrouping grouping = ProfileGrouping::kCall;
    std::string sort_by = "cpu_time_total";  ///< one of profile_sort_keys
    int64_t row_limit = 0;
    bool memory = false;
    bool quiet = false;
    int64_t not_implemented = 0;  ///< cases that did not run
    double budget_seconds = 0;    ///< no pass began that would end later; 0: no limit
    int64_t passes = 0;           ///< requested passes
    AdaptedFunctions adapted = {};
};

/// The table and the lines below it. An unknown key to sort by is bad input.
[[nodiscard]] Result<std::string> profile_report(const Profile& profile,
                                                 const std::optional<ProfileComparison>& comparison,
                                                 const ProfileView& view, const Screen& screen);

/// The same as one JSON text, with every call's statistics.
[[nodiscard]] std::string profile_report_json(const Profile& profile,
                                              const std::optional<ProfileComparison>& comparison,
                                              const ProfileView& view);

/// One row per call, by RFC 4180, with its statistics and its comparison (docs/profile.md).
[[nodiscard]] std::string profile_csv(const Profile& profile, const std::optional<ProfileComparison>& comparison);

/// A line for each call that ran, in the standard's own format.
[[nodiscard]] std::string profile_seed_lines(const Profile& profile);

/// A line for each function of a replay that nobody implements.
[[nodiscard]] std::string missing_text(const Profile& profile);

/// A line with the reason for each call that could not be measured.
[[nodiscard]] std::vector<std::string> error_lines(const Profile& profile);

/// The device's own reports of reduced speed.
[[nodiscard]] std::vector<std::string> device_warnings(const Profile& profile);

/// The roofs of a backend.
struct MeasuredRoofs {
    std::string backend;
    bool is_tf32 = false;  ///< its float32 products round their factors to TF32
    Roofs roofs;
    std::optional<Roofs> tf32;  ///< roofs of the same backend with its float32 products in TF32
};

/// Copies by their sizes, products by dtype, and an empty call.
[[nodiscard]] std::string roofs_text(const MeasuredRoofs& measured);
[[nodiscard]] std::string roofs_json(const MeasuredRoofs& measured);

}  // namespace diopi
