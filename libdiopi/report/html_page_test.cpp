#include "report/html_page.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

namespace diopi {

namespace {

using Catch::Matchers::Contains;

CaseResult passed(const std::string& id, double budget_used = 0.25) {
    CaseResult result;
    result.case_id = id;
    result.suite = "ops";
    result.op = "add";
    result.dtype = "float32";
    result.verdict = Verdict::kPassed;
    result.tensors = {{"input", "float32", {4}}};
    Deviation deviation;
    deviation.budget_used = budget_used;
    result.steps = {{"add", "forward", Verdict::kPassed, "", {deviation}, 0.5}};
    return result;
}

Journal run_that_passed(std::vector<CaseResult> results) {
    Journal journal;
    journal.header.backend = "./lib/chip.so";
    journal.header.cases = static_cast<int64_t>(results.size());
    journal.results = std::move(results);
    return journal;
}

}  // namespace

TEST_CASE("the ids of a page's cases are ranges of numbers, or whole", "[report][html]") {
    const Json data = page_data(run_that_passed({passed("a.0"), passed("a.1"), passed("a.2"), passed("a.7"),
                                                 passed("a.007"), passed("b"), passed("a.12345678901234567890")}));
    std::map<std::string, std::string> ranges;
    for (const Json& group : data.at("groups")) ranges[data.at("prefixes").at(group.at(4).get<size_t>())] = group.at(5);
    CHECK(ranges == std::map<std::string, std::string>{
                        {"a.", "0-2,7"}, {"a.007", ""}, {"b", ""}, {"a.12345678901234567890", ""}});
    CHECK(data.at("counts").at(0) == 7);
    CHECK(data.at("families").at(0).at(0) == "elementwise");
}

TEST_CASE("a page has the outputs by their share of the allowed error", "[report][html]") {
    CaseResult wrong = passed("a.3", 0.5);
    wrong.verdict = wrong.steps[0].verdict = Verdict::kFailed;
    wrong.steps[0].deviations[0].mismatches = 1;
    const Json data = page_data(run_that_passed(
        {passed("a.0", 0.25), passed("a.1", 0.251), passed("a.2", 0.999), wrong, passed("a.4", std::nan(""))}));
    CHECK(data.at("accuracy").at(0).at(0) == "add");
    CHECK(data.at("accuracy").at(0).at(1) == Json({{25, 1}, {26, 1}, {100, 1}, {101, 2}}));
    CHECK(data.at("times").at(0) == Json::array({"add", 5, 2.5, 0.5}));
    REQUIRE(data.at("faults").size() == 1);
    CHECK(data.at("faults").at(0).at("repeat") == "diopi test --case a.3");
}

TEST_CASE("no text of a run can become markup of its page", "[report][html]") {
    CaseResult evil = passed("a</script><b>.0");
    Journal journal = run_that_passed({evil});
    journal.header.backend = "<i>&{{data}}";
    journal.header.command = {"diopi", "<u>"};
    const std::string page = html_page(journal);
    CHECK_THAT(page, Contains("<title>diopi test: &lt;i&gt;&amp;{{data}}</title>") && !Contains("<b>.0"));
    CHECK_THAT(page, Contains("a\\u003c/script>\\u003cb>.") && !Contains("<u>"));
}

TEST_CASE("a page says that its run was interrupted", "[report][html]") {
    Journal journal = run_that_passed({passed("a.0")});
    CHECK_THAT(html_page(journal), !Contains("interrupted") && Contains("diopi test: chip.so"));
    journal.header.cases = 3;
    CHECK_THAT(html_page(journal), Contains("2 cases have no result: the run was interrupted."));
}

}  // namespace diopi
