/// The counts of verdicts, overall and per operator.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "journal/record.hpp"
#include "report/table.hpp"

namespace diopi {

/// Cases by verdict.
struct Counts {
    int64_t passed = 0, failed = 0, crashed = 0, timeout = 0, skipped = 0, not_implemented = 0, advice = 0;
    int64_t hard = 0;  ///< those that were generated from the schema, among all
    int64_t bad = 0;   ///< bad calls, among all

    void add(Verdict verdict);
    [[nodiscard]] int64_t total() const { return passed + failures() + skipped + not_implemented + advice; }
    /// Failed, crashed or timed out: any of these makes the exit code 1.
    [[nodiscard]] int64_t failures() const { return failed + crashed + timeout; }
};

/// A rule of a device configuration: its effect, its reason, and the number of cases of the run that it matched.
struct RuleFigures {
    std::string effect;
    std::string reason;
    int64_t matched = 0;
};

/// The effects of a device configuration on the cases of the run.
struct DeviceConfigFigures {
    std::string file;
    std::string device;
    std::vector<RuleFigures> rules;
    int64_t held = 0;  ///< cases that are compared with a tolerance of a rule
};

/// The facts of the run for the summary, besides its results.
struct RunFigures {
    std::string backend;
    uint64_t seed = 0;
    double seconds = 0;
    /// The options appended to each repeat command.
    std::string options;
    /// It has no rules if there is no device configuration.
    DeviceConfigFigures device_config = {};
    /// Cases whose own atol and rtol replace the accuracy class.
    int64_t own_tolerances = 0;
    /// Why no hard cases are made, by operator.
    std::map<std::string, std::string> without_hard_cases = {};
    /// Cases that did not run because of `end_reason`: "the time of --budget was over".
    int64_t left_out = 0;
    std::string end_reason = {};
};

[[nodiscard]] Counts count(const std::vector<CaseResult>& results);
[[nodiscard]] std::map<std::string, Counts> count_by_operator(const std::vector<CaseResult>& results);
/// The family of an operator of the schema; "other" for any other name.
[[nodiscard]] std::string family_of(const std::string& op);
[[nodiscard]] std::map<std::string, Counts> count_by_family(const std::vector<CaseResult>& results);

/// The name of a backend without the folders of its library.
[[nodiscard]] std::string short_name(const std::string& backend);

/// "14143 cases: 14000 passed, 3 failed, 140 skipped (12.5 s)", "306 cases (200 of them hard): ..."; zero counts are
/// left out. `unit` describes the time: "s" for the run, "s of work in its cases".
[[nodiscard]] std::string summary_line(const Counts& counts, double seconds, std::string_view unit = "s");

/// A row per operator, those with failures first, and one for all.
[[nodiscard]] Table summary_table(const std::vector<CaseResult>& results);

/// The `most` cases that took longest: time of the whole case and of the operator's calls.
[[nodiscard]] Table durations_table(const std::vector<CaseResult>& results, int64_t most);

/// A row per rule of a device configuration: the number of matched cases, its effect and its reason.
[[nodiscard]] Table rules_table(const DeviceConfigFigures& figures);

/// The output of `test --json`: {"counts", "not_passed", "gaps", "bad_calls", "coverage", "backend", "seed",
/// "seconds"}, "device_config" if there is one, and "adaptor" if there were conversions.
[[nodiscard]] std::string summary_json(const std::vector<CaseResult>& results, const RunFigures& figures);

}  // namespace diopi
