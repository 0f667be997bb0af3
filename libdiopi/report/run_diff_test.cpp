#include "report/run_diff.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "report/run_diff_report.hpp"

namespace diopi {

namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

CaseResult judged(const std::string& id, Verdict verdict, double budget_used = 0.1, double seconds = 1e-3) {
    CaseResult result;
    result.case_id = id;
    result.op = "add";
    result.dtype = "float32";
    result.verdict = verdict;
    if (verdict != Verdict::kPassed) result.reason = "it does";
    Deviation deviation;
    deviation.output = "out";
    deviation.budget_used = budget_used;
    result.steps = {{"add", "forward", verdict, result.reason, {deviation}, seconds}};
    return result;
}

Journal run_with(std::vector<CaseResult> results) {
    Journal journal;
    journal.header.backend = "cpu";
    journal.header.cases = static_cast<int64_t>(results.size());
    journal.results = std::move(results);
    return journal;
}

/// Twelve cases whose calls take about `seconds`, with some noise.
Journal timed_run(double seconds) {
    std::vector<CaseResult> results;
    for (int i = 0; i < 12; ++i) {
        const double noise = 1 + 0.01 * (i % 3);
        results.push_back(judged("a." + std::to_string(i), Verdict::kPassed, 0.1, seconds * noise * (1 + i)));
    }
    return run_with(std::move(results));
}

}  // namespace

TEST_CASE("every change of a verdict is in one list", "[report][diff]") {
    using enum Verdict;
    struct Change {
        Verdict before, after;
        std::vector<VerdictChange> RunDiff::*list;
        bool is_worse;
    };
    const Change change = GENERATE(
        Change{kPassed, kFailed, &RunDiff::broken, true}, Change{kSkipped, kCrashed, &RunDiff::broken, true},
        Change{kFailed, kPassed, &RunDiff::mended, false}, Change{kPassed, kNotImplemented, &RunDiff::lost, true},
        Change{kPassed, kSkipped, &RunDiff::lost, true}, Change{kNotImplemented, kPassed, &RunDiff::gained, false},
        Change{kFailed, kCrashed, &RunDiff::other, false}, Change{kFailed, kSkipped, &RunDiff::other, false});
    const RunDiff diff = diff_runs(run_with({judged("a.1", change.before)}), run_with({judged("a.1", change.after)}));
    REQUIRE((diff.*change.list).size() == 1);
    CHECK((diff.*change.list)[0].reason == "it does");
    CHECK((diff.*change.list)[0].repeat == "diopi test --case a.1");
    const size_t all =
        diff.broken.size() + diff.mended.size() + diff.lost.size() + diff.gained.size() + diff.other.size();
    CHECK(all == 1);
    CHECK(diff.is_worse() == change.is_worse);
}

TEST_CASE("cases of one run alone are counted, a failing new one is worse", "[report][diff]") {
    const Journal before = run_with({judged("a.1", Verdict::kPassed), judged("a.9", Verdict::kFailed)});
    Journal after = run_with({judged("a.1", Verdict::kPassed), judged("a.10", Verdict::kPassed)});
    RunDiff diff = diff_runs(before, after);
    CHECK(diff.common == 1);
    CHECK(diff.only_before == std::vector<std::string>{"a.9"});
    CHECK(diff.only_after == std::vector<std::string>{"a.10"});
    CHECK_FALSE(diff.is_worse());
    CHECK(run_diff_text(diff, true, {}) == "1 case in both runs: 1 with the same verdict; 1 only in A; 1 only in B\n");
    after.results[1].verdict = Verdict::kTimeout;
    diff = diff_runs(before, after);
    CHECK(diff.is_worse());
    CHECK_THAT(run_diff_text(diff, false, {}), EndsWith("1 only in B, 1 of them failing\n") && Contains("timeout"));
}

TEST_CASE("accuracy within a pass is worse when it uses clearly more of the allowed error", "[report][diff]") {
    const auto worse = [](double before, double after) {
        return diff_runs(run_with({judged("a.1", Verdict::kPassed, before)}),
                         run_with({judged("a.1", Verdict::kPassed, after)}))
            .less_accurate.size();
    };
    CHECK(worse(0.5, 0.9) == 1);
    CHECK(worse(0.9, 0.5) == 0);
    CHECK(worse(0.8, 0.9) == 0);    // a factor of 1.125
    CHECK(worse(0.01, 0.03) == 0);  // far from the limit
    Journal other = run_with({judged("a.1", Verdict::kPassed, 0.9)});
    other.header.seed = 1;
    const RunDiff diff = diff_runs(run_with({judged("a.1", Verdict::kPassed, 0.5)}), other);
    CHECK(diff.less_accurate.empty());
    CHECK_THAT(run_diff_text(diff, false, {}), Contains("Accuracy is not compared: the runs have other seeds\n"));
}

TEST_CASE("times are judged where a function has ten calls", "[report][diff]") {
    const RunDiff slower = diff_runs(timed_run(1e-3), timed_run(2e-3));
    REQUIRE(slower.times.size() == 1);
    CHECK(slower.times[0].speed.verdict == SpeedVerdict::kSlower);
    CHECK(slower.times[0].speed.ratio.value == Approx(2));
    CHECK_FALSE(slower.is_worse());
    CHECK(diff_runs(timed_run(1e-3), timed_run(1e-3)).times[0].speed.verdict == SpeedVerdict::kSame);
    Journal few = timed_run(1e-3);
    few.results.resize(9);
    CHECK(diff_runs(few, few).times.empty());
}

TEST_CASE("the difference as JSON has every case", "[report][diff]") {
    const Json json =
        run_diff_data(diff_runs(run_with({judged("a.1", Verdict::kPassed), judged("a.2", Verdict::kFailed)}),
                                run_with({judged("a.1", Verdict::kFailed),
                                          judged("a.2", Verdict::kPassed, std::numeric_limits<double>::quiet_NaN())})));
    CHECK(json.at("broken").at(0).at("case") == "a.1");
    CHECK(json.at("broken").at(0).at("after") == "failed");
    CHECK(json.at("mended").at(0).at("operator") == "add");
    CHECK(json.at("common") == 2);
}

}  // namespace diopi
