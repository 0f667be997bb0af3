#include "report/coverage.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "cases/case.hpp"

namespace diopi {

namespace {

using Catch::Matchers::Contains;

CaseResult run_of(std::string_view suite, const std::string& op, const std::string& values, int histories = 0) {
    CaseResult result;
    result.suite = suite;
    result.op = op;
    result.dtype = "bfloat16";
    if (!values.empty()) result.choices = {{"size", "4097"}, {"values", values}};
    StepResult step;
    step.histories = histories;
    result.steps = {step};
    return result;
}

}  // namespace

TEST_CASE("coverage counts the levels of hard cases that reached the library", "[report][coverage]") {
    CaseResult declined = run_of(kHardSuite, "add", "ties");
    declined.verdict = Verdict::kNotImplemented;
    const std::vector<CaseResult> results = {run_of(kHardSuite, "add", "special", 5),
                                             run_of(kHardSuite, "add", "wide", 4), run_of("ops", "add", "", 3),
                                             run_of("ops", "dropout", ""), declined};
    const Coverage coverage = coverage_of(results, {{"dropout", "random numbers"}, {"add", "not to be told"}});
    CHECK(coverage.hard_cases() == 2);
    CHECK(coverage.operators.at("add").factors.at("values") == LevelCounts{{"special", 1}, {"wide", 1}});
    CHECK(coverage.operators.at("add").histories == 12);
    CHECK(coverage.without_hard_cases == std::map<std::string, std::string>{{"dropout", "random numbers"}});
    const std::string text = coverage_text(coverage, {});
    CHECK_THAT(text, Contains("2 hard cases of 1 operator: 1 dtypes, 1 sizes, 2 kinds of values; 12 results"));
    CHECK_THAT(text, Contains("no hard cases (random numbers): dropout\n"));
    const Json json = coverage_json(coverage);
    CHECK(json.at("operators").at("add").at("factors").at("dtype").at("bfloat16") == 2);
}

TEST_CASE("a run without hard cases has no coverage", "[report][coverage]") {
    const Coverage coverage = coverage_of({run_of("ops", "add", "", 3)});
    CHECK(coverage.operators.empty());
    CHECK(coverage_text(coverage, {}).empty());
}

}  // namespace diopi
