#include "report/run_report.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "file/atomic_file.hpp"
#include "file/test_folder.hpp"

namespace diopi {

namespace {

using Catch::Matchers::Contains;

CaseResult ran(const std::string& id, Verdict verdict) {
    CaseResult result;
    result.case_id = id;
    result.op = "add";
    result.dtype = "float32";
    result.verdict = verdict;
    result.seconds = 0.5;
    return result;
}

Journal interrupted_run() {
    Journal journal;
    journal.header.backend = "cpu";
    journal.header.seed = 3;
    journal.header.cases = 5;
    journal.results = {ran("ops/a.add.0", Verdict::kPassed), ran("ops/a.add.1", Verdict::kFailed)};
    return journal;
}

}  // namespace

TEST_CASE("a run's text ends in its summary line, quiet or not", "[report][run]") {
    RunFigures figures{"cpu", 0, 1.5, ""};
    figures.device_config = {"chip.json", "chip", {{"skip", "too slow", 2}}, 1};
    const std::vector<CaseResult> results = interrupted_run().results;
    const std::string text = run_report(results, figures, {}, {});
    CHECK_THAT(text, Catch::Matchers::EndsWith("\n2 cases: 1 passed, 1 failed (1.5 s)\n"));
    CHECK_THAT(text, Contains("operator") && Contains("chip.json (chip)") && Contains("too slow"));
    CHECK_THAT(text, Contains("1 case is checked with a tolerance of it\n"));
    const std::string quiet = run_report(results, figures, {.is_quiet = true}, {});
    CHECK_THAT(quiet, !Contains("operator ") && !Contains("chip.json"));
    CHECK_THAT(quiet, Catch::Matchers::EndsWith("\n2 cases: 1 passed, 1 failed (1.5 s)\n"));
}

TEST_CASE("a journal's text counts the cases without a result", "[report][run]") {
    Journal journal = interrupted_run();
    CHECK_THAT(
        journal_report(journal, {.is_quiet = true}, {}),
        Contains("\n2 cases: 1 passed, 1 failed (1.0 s of work in its cases)\n3 cases of the run have no result"));
    journal.header.cases = 2;
    CHECK_THAT(journal_report(journal, {}, {}), !Contains("no result") && Contains("add"));
    const auto json = nlohmann::json::parse(journal_json(journal));
    CHECK(json.at("counts").at("failed") == 1);
    CHECK(json.at("seed") == 3);
    CHECK(json.at("seconds") == 1);
}

TEST_CASE("JUnit is written if it is requested", "[report][run]") {
    const testing::TestFolder folder;
    const std::vector<CaseResult> results = interrupted_run().results;
    REQUIRE(write_report_files({folder / "a.csv", ""}, results, "--seed 3").ok());
    const auto csv = read_text_file(folder / "a.csv");
    REQUIRE(csv.ok());
    CHECK_THAT(*csv, Contains("ops/a.add.1 --seed 3"));
    REQUIRE(write_report_files({folder / "a.csv", folder / "a.xml"}, results, "").ok());
    CHECK(read_text_file(folder / "a.xml").ok());
    CHECK_FALSE(write_report_files({folder / "a.csv/b.csv", ""}, results, "").ok());
}

}  // namespace diopi
