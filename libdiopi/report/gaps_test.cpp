#include "report/gaps.hpp"

#include <catch2/catch.hpp>

namespace diopi {

namespace {

CaseResult result_with(const std::string& function, const std::string& dtype, std::vector<int64_t> shape,
                       bool declined) {
    CaseResult result;
    result.op = function;
    result.dtype = dtype;
    result.tensors = {{"input", dtype, std::move(shape)}};
    StepResult step;
    step.function = function;
    step.step = "forward";
    step.verdict = result.verdict = declined ? Verdict::kNotImplemented : Verdict::kPassed;
    step.declined = declined;
    result.steps = {step};
    return result;
}

std::string pattern(const std::vector<std::vector<int64_t>>& accepted,
                    const std::vector<std::vector<int64_t>>& declined) {
    std::vector<CaseResult> results;
    for (const auto& shape : accepted) results.push_back(result_with("mm", "float32", shape, false));
    for (const auto& shape : declined) results.push_back(result_with("mm", "float32", shape, true));
    const Gaps gaps = gaps_of(results);
    REQUIRE(gaps.declined.size() == 1);
    return gaps.declined.front().pattern;
}

}  // namespace

TEST_CASE("declined calls are counted by function and dtype, absent functions by calls") {
    std::vector<CaseResult> results = {result_with("mm", "float16", {64, 64}, true),
                                       result_with("mm", "float16", {63, 64}, true),
                                       result_with("mm", "float32", {64, 64}, false)};
    CaseResult half = result_with("tanh", "float32", {4}, false);
    half.verdict = Verdict::kNotImplemented;
    StepResult backward;
    backward.verdict = Verdict::kNotImplemented;
    backward.absent = "diopiTanhBackward";
    half.steps.push_back(backward);
    results.push_back(half);
    const Gaps gaps = gaps_of(results);
    CHECK(gaps.absent == std::map<std::string, int64_t>{{"diopiTanhBackward", 1}});
    CHECK(gaps.passed_steps == std::map<std::string, int64_t>{{"forward", 1}});
    REQUIRE(gaps.declined.size() == 1);
    CHECK(gaps.declined[0].calls.part == 2);
    CHECK(gaps.declined[0].calls.all == 3);
    CHECK(gaps.declined[0].dtypes.at("float16").part == 2);
    CHECK(gaps_text(gaps, {80, false}) ==
          "\n1 function not in the library:\ndiopiTanhBackward\n"
          "\ndeclined  calls  of  which\n"
          "--------  -----  --  --------------\n"
          "mm            2   3  float16 2 of 2\n"
          "\nsteps that passed in cases which count as not implemented: 1 forward\n");
}

TEST_CASE("the simplest rule that all declined calls meet, and no other, is named") {
    CHECK(pattern({{64, 128}, {3, 64}}, {{64, 65}, {64, 127}}) ==
          "the last dim of the first tensor is no multiple of 2");
    CHECK(pattern({{64, 128}, {3, 64}}, {{64, 96}, {64, 32}}) ==
          "the last dim of the first tensor is no multiple of 64");
    CHECK(pattern({{64, 128}, {128, 64}}, {{63, 64}, {64, 31}}) == "a dim of the first tensor is no multiple of 2");
    CHECK(pattern({{4}, {3}}, {{4, 4}, {3, 3, 3}}) == "the first tensor has 2 or 3 dims");
    CHECK(pattern({{4}, {3}}, {{100}, {201}}) == "the first tensor has 100 elements or more");
    CHECK(pattern({{400}, {301}}, {{100}, {201}}) == "the first tensor has 201 elements or fewer");
    CHECK(pattern({{100}, {201}}, {{150}, {301}, {3}}).empty());
    CHECK(pattern({{100}, {201}}, {{150}}).empty());
}

TEST_CASE("a run without gaps has no lines about them") {
    const Gaps gaps = gaps_of({result_with("mm", "float32", {64, 64}, false)});
    CHECK(gaps.empty());
    CHECK(gaps_text(gaps, {80, false}).empty());
}

}  // namespace diopi
