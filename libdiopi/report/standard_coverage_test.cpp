#include "report/standard_coverage.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "schema/schema.hpp"

namespace diopi {

namespace {

using Catch::Matchers::Contains;

/// A run with one call of each of these functions.
Journal run_that_calls(const std::vector<std::pair<std::string, Verdict>>& calls) {
    Journal journal;
    journal.header.backend = "chip";
    for (const auto& [symbol, verdict] : calls) {
        StepResult step;
        step.verdict = verdict;
        step.symbol = symbol;
        journal.results.emplace_back().steps.push_back(step);
    }
    return journal;
}

const CoveredFunction& covered(const StandardCoverage& coverage, std::string_view function) {
    return coverage.functions.at(find_row(function)->index());
}

}  // namespace

TEST_CASE("coverage counts the calls of each C function", "[report][coverage]") {
    const Journal run = run_that_calls({{"diopiAdd", Verdict::kPassed},
                                        {"diopiAdd", Verdict::kFailed},
                                        {"diopiReluInp", Verdict::kFailed},
                                        {"diopiNmsMmcv", Verdict::kNotImplemented}});
    const StandardCoverage coverage = standard_coverage(run, reference_backend());
    CHECK(coverage.functions.size() == rows().size());
    CHECK(covered(coverage, "diopiAdd").calls == 2);
    CHECK(covered(coverage, "diopiAdd").passed == 1);
    CHECK(covered(coverage, "diopiReluInp").is_there);
    CHECK_FALSE(covered(coverage, "diopiNmsMmcv").is_there);
    const std::string text = standard_coverage_text(coverage, {});
    CHECK_THAT(text, Contains("Reached, and no call passed (1): diopiReluInp\n"));
    CHECK_THAT(text, Contains("Not in the library (") && Contains("diopiNmsMmcv"));
    CHECK_THAT(text, Contains("No case of the run reaches (") && Contains("diopiAddScalar"));
    const auto json = nlohmann::json::parse(standard_coverage_json(coverage));
    CHECK(json.at("functions").size() == rows().size());
    CHECK(json.at("backend") == "chip");
}

TEST_CASE("a journal of an older program has no coverage", "[report][coverage]") {
    CHECK_FALSE(standard_coverage(run_that_calls({{"", Verdict::kPassed}}), reference_backend()).has_symbols);
    CHECK(standard_coverage(run_that_calls({}), reference_backend()).has_symbols);
    CHECK(standard_coverage(run_that_calls({{"", Verdict::kSkipped}}), reference_backend()).has_symbols);
}

}  // namespace diopi
