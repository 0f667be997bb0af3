#include "report/fallback_report.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace diopi {

namespace {

using Catch::Matchers::Contains;

FallbackRecord one_fallback() {
    FallbackRecord record;
    record.backend = "sim";
    record.other = "cpu";
    record.calls = 9;
    record.rows.push_back(
        {"add.Tensor", "diopiAdd", FallbackReason::kForced, 3, {2, 800, 1e-3}, {1, 19200, 5e-4}, 0, 0.5});
    record.step_seconds = 0.002;
    record.step_seconds_with = 0.003;
    record.results = 4;
    return record;
}

BisectRecord two_blamed() {
    BisectRecord record;
    record.reason = "1 of 2 results differ";
    record.functions = {{"diopiAdd", {"add.Tensor", "add_.Tensor"}, 5}};
    record.calls_end = SearchEnd::kFound;
    record.calls = {{12, "add.Tensor", "diopiAdd", "layer1", "model.py:3"}};
    record.replays = 11;
    record.function_units = 4;
    record.call_units = 5;
    return record;
}

}  // namespace

TEST_CASE("fallback-sim's text counts fallbacks and has the time of a step", "[report][fallback]") {
    FallbackRecord record = one_fallback();
    std::string text = fallback_text(record, {});
    CHECK_THAT(text, Contains("add.Tensor") && Contains("forced") && Contains("20.0 kB") && Contains("1.500ms"));
    CHECK_THAT(text, Contains("3 of 9 calls fall back to cpu.\n"));
    CHECK_THAT(text, Contains("A step on sim takes 2.000ms, with the listed operators on cpu 3.000ms (1.50 times).\n"));
    CHECK_THAT(text, Contains("None of the 4 results changes.\n"));
    CHECK_THAT(text, !Contains("elapsed time"));

    record.waited_seconds = 0.004;
    record.waited_seconds_with = 0.012;
    record.changed = {{"t3", 0.5, 0.25, true}, {"t4", 2, 1, false}};
    record.missing = {{"cdist", 1}};
    text = fallback_text(record, {});
    CHECK_THAT(text, Contains("The elapsed time is 4.000ms and 12.000ms: 50.0% and 25.0% of it were predicted.\n"));
    CHECK_THAT(text, Contains("2 of 4 results change, 1 of them beyond the tolerance (--tolerance).\n"));
    CHECK_THAT(text, Contains("not implemented anywhere: cdist (1 call); its outputs hold drawn values\n"));
}

TEST_CASE("without forced operators there is one kind of step", "[report][fallback]") {
    FallbackRecord record = one_fallback();
    record.rows[0].reason = FallbackReason::kNotImplemented;
    record.waited_seconds = 0.004;
    CHECK_THAT(fallback_text(record, {}),
               Contains("A step on sim takes 2.000ms.\nThe elapsed time is 4.000ms: 50.0% of it were predicted.\n"));
}

TEST_CASE("the seed's lines of a fallback name the forced operators first", "[report][fallback]") {
    FallbackRecord record = one_fallback();
    record.rows.push_back(record.rows.front());
    record.rows.back().overload = "mm";
    record.rows.back().reason = FallbackReason::kDeclined;
    record.lines = {"OpFallbackHook: add.Tensor"};
    CHECK(fallback_seed_lines(record) ==
          "force fallback has been set, add.Tensor will be fallback to cpu\nOpFallbackHook: add.Tensor\n");
}

TEST_CASE("a bisection's text names functions, calls and the command that repeats it", "[report][fallback]") {
    const std::string text = bisect_text(two_blamed(), "diopi fallback-sim --ops diopiAdd");
    CHECK(text ==
          "Without fallback: 1 of 2 results differ\nTo blame:\n  diopiAdd (add.Tensor, add_.Tensor), 5 calls\n"
          "  call 12: add.Tensor in layer1, model.py:3\n11 replays over 4 functions and 5 calls.\n"
          "Repeat with the fallback: diopi fallback-sim --ops diopiAdd\n");
}

TEST_CASE("a bisection without a result has the reason", "[report][fallback]") {
    BisectRecord record = two_blamed();
    record.end = SearchEnd::kNothingWrong;
    CHECK(bisect_text(record, "") == "Nothing is wrong: the capture passes without any fallback (11 replays).\n");
    record.end = SearchEnd::kElsewhere;
    CHECK_THAT(bisect_text(record, ""), Contains("every operator falls back: 1 of 2 results differ\n"));
    record.end = SearchEnd::kInterrupted;
    CHECK(bisect_text(record, "") == "Interrupted after 11 replays.\n");
    record.end = SearchEnd::kNotMonotone;
    CHECK_THAT(bisect_text(record, ""), Contains("may not be the smallest") && Contains("To blame:\n"));
}

TEST_CASE("a bisection's JSON has the end of the search over calls if there was one", "[report][fallback]") {
    BisectRecord record = two_blamed();
    auto json = nlohmann::json::parse(bisect_json(record));
    CHECK(json.at("end") == "found");
    CHECK(json.at("calls_end") == "found");
    CHECK(json.at("calls").at(0).at("source") == "model.py:3");
    CHECK(json.at("functions").at(0).at("overloads").size() == 2);
    record.calls_end.reset();
    json = nlohmann::json::parse(bisect_json(record));
    CHECK(json.at("calls_end").is_null());
}

}  // namespace diopi
