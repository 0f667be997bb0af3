/// Kept reports as records: what the page and the window of diopi report show of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/status.hpp"
#include "journal/bisect_record.hpp"
#include "journal/compare_row.hpp"
#include "journal/fallback_record.hpp"
#include "journal/kept_report.hpp"
#include "profile_data/profile_record.hpp"
#include "report/compare_summary.hpp"

namespace diopi {

struct KeptHeading {
    std::string title;     ///< "diopi profile: cpu"
    std::string subject;   ///< "cpu", "cpu and reference"
    std::string summary;   ///< one sentence
    int64_t failures = 0;  ///< what makes the exit code of the page 1
};

/// The time of a call here, divided by that of the baseline or of another implementation, with its 95% interval.
struct KeptRatio {
    std::optional<double> value, low, high;  ///< `high` lacks if it is infinite
    std::optional<double> base_median;       ///< seconds there
    std::string verdict;                     ///< "SLOWER", "FASTER", "SAME", "AMBIGUOUS"
};

/// A call of a profile. Figures that have no meaning for it, or were not measured, are absent; times are in seconds.
struct KeptCall {
    std::string name, case_id, phase, layer, dtype, error, shapes;
    std::optional<double> median, low, high, roof, flops, bytes, allocated;
    bool launch_bound = false;
    std::optional<KeptRatio> ratio;

    [[nodiscard]] bool is_measured() const { return median && *median > 0; }
    /// The case, or the layer of a captured call.
    [[nodiscard]] const std::string& place() const { return case_id.empty() ? layer : case_id; }
};

/// The members of a call in a report, in the order of their columns on the page.
inline constexpr std::array<std::pair<const char*, std::string KeptCall::*>, 6> kCallTexts = {{
    {"name", &KeptCall::name},
    {"case", &KeptCall::case_id},
    {"phase", &KeptCall::phase},
    {"layer", &KeptCall::layer},
    {"dtype", &KeptCall::dtype},
    {"error", &KeptCall::error},
}};
inline constexpr std::array<std::pair<const char*, std::optional<double> KeptCall::*>, 7> kCallFigures = {{
    {"median_s", &KeptCall::median},
    {"low_s", &KeptCall::low},
    {"high_s", &KeptCall::high},
    {"roof_s", &KeptCall::roof},
    {"flops", &KeptCall::flops},
    {"bytes", &KeptCall::bytes},
    {"allocated_bytes", &KeptCall::allocated},
}};

/// The other side of a profile.
struct KeptBase {
    std::string name;    ///< of the backend, or "the baseline"
    const char* member;  ///< "against" or "baseline": where the report has it
    int64_t compared = 0, slower = 0, faster = 0, same = 0, ambiguous = 0;
    std::optional<double> geometric_mean;
};

struct KeptProfile {
    KeptHeading heading;
    std::vector<Roofs::Copy> copies;                       ///< ascending sizes
    std::vector<std::pair<std::string, double>> products;  ///< operations per second by dtype
    double empty_call = 0;                                 ///< seconds of a call on one element; 0: not measured
    std::vector<KeptCall> calls;                           ///< in their order; without rows that enclose others
    std::optional<KeptBase> base;
};

struct KeptComparison {
    KeptHeading heading;
    CompareSides sides;
    std::vector<CompareRow> rows;
};

struct KeptFallback {
    KeptHeading heading;
    FallbackRecord record;
};

/// The record lacks what is not shown: the numbers of units and the end of the search over calls.
struct KeptBisection {
    KeptHeading heading;
    BisectRecord record;
};

/// A report of that kind; bad input if it lacks a member.
[[nodiscard]] Result<KeptProfile> profile_in(const KeptReport& kept);
[[nodiscard]] Result<KeptComparison> comparison_in(const KeptReport& kept);
[[nodiscard]] Result<KeptFallback> fallback_in(const KeptReport& kept);
[[nodiscard]] Result<KeptBisection> bisection_in(const KeptReport& kept);

}  // namespace diopi
