#include "report/summary.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace diopi {

namespace {

CaseResult summed(const std::string& op, Verdict verdict) {
    CaseResult result;
    result.case_id = "ops/group." + op + ".0";
    result.op = op;
    result.verdict = verdict;
    if (verdict != Verdict::kPassed) result.reason = "because";
    if (verdict == Verdict::kFailed) result.kind = FailureKind::kForm;
    return result;
}

std::vector<CaseResult> mixed() {
    return {summed("abs", Verdict::kPassed),        summed("relu", Verdict::kPassed), summed("relu", Verdict::kFailed),
            summed("relu", Verdict::kTimeout),      summed("abs", Verdict::kSkipped), summed("relu", Verdict::kCrashed),
            summed("nms", Verdict::kNotImplemented)};
}

}  // namespace

TEST_CASE("the summary counts each verdict once", "[report][summary]") {
    const Counts counts = count(mixed());
    CHECK(counts.total() == 7);
    CHECK(counts.failures() == 3);
    CHECK(summary_line(counts, 1.25) ==
          "7 cases: 2 passed, 1 failed, 1 crashed, 1 timeout, 1 skipped, 1 not implemented (1.2 s)");
    CHECK(summary_line({}, 0) == "0 cases (0.0 s)");
    CHECK(count_by_operator(mixed()).at("relu").failures() == 3);
    CHECK(count_by_family(mixed()).at("activation").total() == 4);
    CHECK(count_by_family({summed("own", Verdict::kPassed)}).at("other").passed == 1);
}

TEST_CASE("the summary table begins with the operators that failed", "[report][summary]") {
    CHECK(summary_table(mixed()).render(100, false) ==
          "operator  cases  passed  failed  crashed  timeout  skipped  not implemented\n"
          "--------  -----  ------  ------  -------  -------  -------  ---------------\n"
          "relu          4       1       1        1        1        .                .\n"
          "abs           2       1       .        .        .        1                .\n"
          "nms           1       .       .        .        .        .                1\n"
          "all           7       2       1        1        1        1                1\n");
}

TEST_CASE("the JSON summary lists cases that did not pass, with the command that repeats them", "[report][summary]") {
    const auto json = nlohmann::json::parse(summary_json(mixed(), {"cpu", 42, 1.5, "--impl x.so"}));
    CHECK(json.at("counts").at("passed") == 2);
    CHECK(json.at("counts").at("not_implemented") == 1);
    CHECK(json.at("backend") == "cpu");
    CHECK(json.at("seed") == 42);
    CHECK(json.at("seconds") == 1.5);
    REQUIRE(json.at("not_passed").size() == 5);
    const auto& first = json.at("not_passed").at(0);
    CHECK(first.at("case") == "ops/group.relu.0");
    CHECK(first.at("verdict") == "failed");
    CHECK(first.at("kind") == "shape or dtype");
    CHECK_FALSE(json.at("not_passed").at(1).contains("kind"));
    CHECK(first.at("reason") == "because");
    CHECK(first.at("repeat") == "diopi test --case ops/group.relu.0 --impl x.so");
}

}  // namespace diopi
