/// The difference between two runs of diopi test: what broke, what was lost or gained, accuracy and speed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "check/statistics.hpp"
#include "journal/journal.hpp"

namespace diopi {

/// A case that both runs have, with another verdict.
struct VerdictChange {
    std::string case_id, op, dtype;
    Verdict before = Verdict::kPassed, after = Verdict::kPassed;
    std::string reason;  ///< of the newer verdict, or of the older one if the newer is passed
    std::string repeat;  ///< the command that runs the case as the newer run did
};

/// An output of a function that uses more, or less, of its allowed error, in cases that pass in both runs.
struct AccuracyChange {
    std::string function, output;
    double before = 0, after = 0;  ///< largest share of the allowed error that was used
    std::string case_id;           ///< the case with the larger one
    int64_t calls = 0;
};

/// The time of a function's calls in cases that pass in both runs.
struct TimeChange {
    std::string function;
    int64_t calls = 0;
    double before = 0, after = 0;  ///< seconds of all these calls
    SpeedComparison speed;         ///< the ratio of the typical call
};

struct RunDiff {
    RunHeader before, after;
    int64_t common = 0;                                ///< cases of both runs
    std::vector<std::string> only_before, only_after;  ///< ids of cases that one run has
    std::vector<VerdictChange> broken;                 ///< fail now, and did not fail
    std::vector<VerdictChange> mended;                 ///< pass now, and failed
    std::vector<VerdictChange> lost;                   ///< ran, and are skipped or not implemented now
    std::vector<VerdictChange> gained;                 ///< the reverse
    std::vector<VerdictChange> other;                  ///< failed in another way, or another reason not to run
    std::vector<VerdictChange> newly_failing;          ///< cases that only the newer run has, and that fail
    /// Why accuracy was not compared: "the runs have other seeds"; empty if it was.
    std::string accuracy_left_out;
    std::vector<AccuracyChange> less_accurate, more_accurate;
    std::vector<TimeChange> times;  ///< functions with enough calls, the slowest change first

    /// A failure that the older run had not, or lost support: exit code 1.
    [[nodiscard]] bool is_worse() const { return !broken.empty() || !lost.empty() || !newly_failing.empty(); }
};

/// The results of both journals must be in natural order of their ids.
[[nodiscard]] RunDiff diff_runs(const Journal& before, const Journal& after);

}  // namespace diopi
