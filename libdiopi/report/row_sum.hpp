/// Adds up calls of a profile to a row of a table.
#pragma once

#include <cstdint>
#include <vector>

#include "profile_data/profile_figures.hpp"
#include "report/profile_row.hpp"

namespace diopi {

/// One call: its times with and without the calls inside.
struct CallFigures {
    Summary cpu, counted;  ///< the host's time, and the time that counts
    double device = 0;
    double inner_cpu = 0, inner_device = 0;
    int64_t inner_memory = 0;
};

/// The figures of each call.
[[nodiscard]] std::vector<CallFigures> figures_of(const Profile& profile);

/// A row while its calls are added.
class RowSum {
 public:
    /// Adds the call's own work, without the calls inside.
    void add_self(const ProfiledCall& call, const CallFigures& own);
    /// Adds the time of the call and those inside it, once for all of them that are in the row.
    void add_total(const ProfiledCall& call, const CallFigures& own);
    /// Adds to the time of the row's calls, from which shares and rates are computed.
    void add_time(const CallFigures& own);
    /// Counts the call, with its memory, operations and bytes.
    void add_call(const ProfiledCall& call, const CallFigures& own, const Roofs& roofs,
                  const SpeedComparison* comparison);
    /// Keeps the texts that all calls have in common.
    void describe(const ProfiledCall& call);
    [[nodiscard]] ProfileRow finish(const Roofs& roofs) const;

    ProfileRow row;

 private:
    std::vector<double> medians_;
};

/// Null if there is no comparison for the call.
[[nodiscard]] const SpeedComparison* comparison_of(const std::vector<std::optional<SpeedComparison>>& comparisons,
                                                   size_t call);

/// Rows of layers (ProfileGrouping::kLayer).
[[nodiscard]] std::vector<ProfileRow> layer_rows(const Profile& profile,
                                                 const std::vector<std::optional<SpeedComparison>>& comparisons);

}  // namespace diopi
