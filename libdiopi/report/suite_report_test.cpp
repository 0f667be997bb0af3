#include "report/suite_report.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace diopi {

namespace {

CaseResult checked(Verdict verdict) {
    CaseResult result;
    result.case_id = "runtime/streams";
    result.op = "streams";
    result.verdict = verdict;
    result.reason = "4 streams";
    return result;
}

}  // namespace

TEST_CASE("a failed check of the runtime suite has the command that repeats it", "[report][suite]") {
    CHECK(message_of_check(checked(Verdict::kPassed), "").text == "Run runtime.streams succeed: 4 streams");
    CHECK(message_of_check(checked(Verdict::kNotImplemented), "").text ==
          "Run runtime.streams not implemented: 4 streams");
    const LogMessage failed = message_of_check(checked(Verdict::kCrashed), "--suite runtime");
    CHECK(failed.level == LogLevel::kError);
    CHECK(failed.text ==
          "Run runtime.streams crashed: 4 streams\n    repeat: diopi test --case runtime/streams --suite runtime");
}

TEST_CASE("the suite's JSON lists every check with its result", "[report][suite]") {
    const auto json = nlohmann::json::parse(
        suite_json({checked(Verdict::kPassed), checked(Verdict::kFailed)}, {"cpu", 0, 1, "--suite runtime"}));
    REQUIRE(json.at("checks").size() == 2);
    CHECK(json.at("checks").at(0).at("findings") == "4 streams");
    CHECK(json.at("checks").at(1).at("verdict") == "failed");
    CHECK(json.at("counts").at("passed") == 1);
}

}  // namespace diopi
