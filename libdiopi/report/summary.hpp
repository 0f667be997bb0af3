/// How many cases ended how, overall and per operator.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/table.hpp"
#include "store/record.hpp"

namespace diopi {

/// Cases by verdict.
struct Counts {
    int64_t passed = 0, failed = 0, crashed = 0, timeout = 0, skipped = 0, not_implemented = 0;

    void add(Verdict verdict);
    [[nodiscard]] int64_t total() const { return passed + failures() + skipped + not_implemented; }
    /// Failed, crashed or timed out: anything here makes the exit code 1.
    [[nodiscard]] int64_t failures() const { return failed + crashed + timeout; }
};

/// What the summary says about the run besides its results.
struct RunFigures {
    std::string backend;
    uint64_t seed = 0;
    double seconds = 0;
    /// Appended to each repeat command.
    std::string options;
};

[[nodiscard]] Counts count(const std::vector<CaseResult>& results);
[[nodiscard]] std::map<std::string, Counts> count_by_operator(const std::vector<CaseResult>& results);

/// "14143 cases: 14000 passed, 3 failed, 140 skipped (12.5 s)"; zero counts are left out.
/// `unit` says what the time is of: "s" for the run, "s of work in its cases".
[[nodiscard]] std::string summary_line(const Counts& counts, double seconds, std::string_view unit = "s");

/// A row per operator, those with failures first, and one for all.
[[nodiscard]] Table summary_table(const std::vector<CaseResult>& results);

/// What `test --json` prints: {"counts", "not_passed", "backend", "seed", "seconds"}.
[[nodiscard]] std::string summary_json(const std::vector<CaseResult>& results, const RunFigures& figures);

}  // namespace diopi
