/// The table of a profile, in the form that users of PyTorch's profiler know, and the lines below it.
#pragma once

#include <string>
#include <vector>

#include "report/profile_rows.hpp"

namespace diopi {

struct ProfileTableOptions {
    bool memory = false;            ///< columns of memory
    bool shapes = false;            ///< column of input shapes
    bool cases = false;             ///< column of case names
    bool stops = false;             ///< column with the reason why the samples ended
    std::string base = "Baseline";  ///< title of the column with the time of the baseline, or of the other side
    int64_t row_limit = 0;          ///< rows at most; 0: all
};

/// Columns are at least 12 wide if the table then fits into `width`; else the less important ones are left out and a
/// line names them.
[[nodiscard]] std::string profile_table(const Profile& profile, const std::vector<ProfileRow>& rows,
                                        const ProfileTableOptions& options, int width, bool colour);

/// "Self CPU time total: 1.234ms", roofs, and the method of measurement.
[[nodiscard]] std::string profile_footer(const Profile& profile, const std::vector<ProfileRow>& rows);

/// "12.345us", the format of frameworks' profilers.
[[nodiscard]] std::string time_text(double seconds);

}  // namespace diopi
