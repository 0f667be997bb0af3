#include "report/replay_report.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace diopi {

namespace {

using Catch::Matchers::Contains;

ReplayRecord replayed_add(Verdict verdict) {
    ReplayRecord record;
    record.result.case_id = "ops/a.add.3";
    record.result.op = "add";
    record.result.dtype = "float32";
    record.result.verdict = verdict;
    record.result.steps.resize(1);
    record.result.steps[0].function = "add";
    record.result.steps[0].step = "forward";
    record.result.steps[0].verdict = verdict;
    if (verdict != Verdict::kPassed) record.result.steps[0].reason = record.result.reason = "1 of 4 differ";
    record.recorded = Verdict::kFailed;
    record.reason = "2 of 4 differ";
    record.backend = "cpu";
    record.file_hash = "0123";
    record.version = "diopi 1.0.0";
    return record;
}

}  // namespace

TEST_CASE("a replay shows the bundle's result, then the new one", "[report][replay]") {
    const auto failed = messages_of(replayed_add(Verdict::kFailed), {"another library"}, "diopi test --replay x.h5");
    REQUIRE(failed.size() == 3);
    CHECK(failed[0].text == "ops/a.add.3, forward: failed when it was saved by diopi 1.0.0: 2 of 4 differ");
    CHECK(failed[1].level == LogLevel::kWarning);
    CHECK(failed[1].text == "another library");
    CHECK(failed[2].level == LogLevel::kError);
    CHECK_THAT(failed[2].text, Contains("\n    1 of 4 differ\n    repeat: diopi test --replay x.h5"));
    const auto passed = messages_of(replayed_add(Verdict::kPassed), {}, "");
    REQUIRE(passed.size() == 2);
    CHECK(passed[1].level == LogLevel::kInfo);
    CHECK_THAT(passed[1].text, Contains("succeed"));
}

TEST_CASE("a replay's JSON has the library of the bundle and the command that repeats it", "[report][replay]") {
    const auto json =
        nlohmann::json::parse(replay_json(replayed_add(Verdict::kFailed), {"cpu", 0, 1, ""}, {"a note"}, "again"));
    CHECK(json.at("recorded").at("library_hash") == "0123");
    CHECK(json.at("recorded").at("verdict") == "failed");
    CHECK(json.at("not_passed").at(0).at("repeat") == "again");
    CHECK(json.at("notes").size() == 1);
}

}  // namespace diopi
