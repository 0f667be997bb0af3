#include "report/html_page.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "journal/kept_report.hpp"

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

std::string page_of(const Journal& journal) {
    HtmlPage page;
    page.add(journal);
    return page.text();
}

KeptReport kept(const std::string& kind, Json report) {
    return {kind,
            {"./bin/diopi", kind, "--run", "nightly/x", "add"},
            "today",
            "diopi on a machine",
            std::make_shared<Json>(std::move(report))};
}

/// A call of a profile's report.
Json call(const std::string& name, double median_s) {
    return {{"name", name},       {"function", "diopiAdd"},  {"phase", "forward"},
            {"dtype", "float32"}, {"shapes", {{2, 3}, {4}}}, {"median_s", median_s},
            {"low_s", median_s},  {"high_s", median_s},      {"flops", 6.0},
            {"bytes", 1024.0},    {"allocated_bytes", 0},    {"roof_s", 0.0123456}};
}

Json profile_report(Json calls) {
    return {{"backend", "./lib/chip.so"},
            {"mode", "hot"},
            {"roofs", {{"copy", Json::array()}, {"matmul_flops_per_s", Json::object()}, {"empty_call_s", 1e-6}}},
            {"calls", std::move(calls)}};
}

CompareRow compared(const std::string& where, bool allclose) {
    CompareRow row;
    row.where = where;
    row.name = row.overload = "relu";
    row.layer = "layer1";
    row.function = "diopiRelu";
    row.allclose = allclose;
    row.cosine = 0.5;
    row.max_abs = 0.25;
    return row;
}

Json compare_report(const std::vector<CompareRow>& rows) {
    Json tensors = Json::array();
    for (const CompareRow& row : rows) tensors.push_back(parse_own(to_json_line(row)));
    return {{"backend", "cpu"}, {"against", "reference"}, {"tensors", tensors}};
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
    wrong.steps[0].deviations[0].picture = {".#"};
    const Json data = page_data(run_that_passed(
        {passed("a.0", 0.25), passed("a.1", 0.251), passed("a.2", 0.999), wrong, passed("a.4", std::nan(""))}));
    CHECK(data.at("accuracy").at(0).at(0) == "add");
    CHECK(data.at("accuracy").at(0).at(1) == Json({{25, 1}, {26, 1}, {100, 1}, {101, 2}}));
    CHECK(data.at("times").at(0) == Json::array({"add", 5, 2.5, 0.5}));
    REQUIRE(data.at("faults").size() == 1);
    CHECK(data.at("faults").at(0).at("repeat") == "diopi test --case a.3");
    CHECK(data.at("faults").at(0).at("picture") == Json::array({".#"}));
}

TEST_CASE("no text of a run can become markup of its page", "[report][html]") {
    CaseResult evil = passed("a</script><b>.0");
    Journal journal = run_that_passed({evil});
    journal.header.backend = "<i>&{{data}}";
    journal.header.command = {"diopi", "<u>"};
    const std::string page = page_of(journal);
    CHECK_THAT(page, Contains("<title>diopi test: &lt;i&gt;&amp;{{data}}</title>") && !Contains("<b>.0"));
    CHECK_THAT(page, Contains("a\\u003c/script>\\u003cb>.") && !Contains("<u>"));
}

TEST_CASE("a page says that its run was interrupted", "[report][html]") {
    Journal journal = run_that_passed({passed("a.0")});
    CHECK_THAT(page_of(journal), !Contains("interrupted") && Contains("diopi test: chip.so"));
    journal.header.cases = 3;
    CHECK_THAT(page_of(journal), Contains("2 cases have no result: the run was interrupted."));
}

TEST_CASE("a page of a profile has its calls as rows of figures", "[report][html]") {
    Json slower = call("add", 0.5);
    slower["against"] = {{"verdict", "SLOWER"}, {"median_s", 0.25}, {"ratio", 2.0},
                         {"low", 1.5},          {"high", Json()},   {"p", 0}};
    const Json enclosing = {{"name", "step"}, {"median_s", 1}};
    const Json failed = {{"name", "roll"}, {"function", "diopiRoll"}, {"error", "not implemented"}};
    Json report = profile_report({slower, enclosing, failed});
    report["against"] = {{"backend", "/opt/libdiopi_torch.so"}, {"compared", 1}, {"slower", 1}};
    const auto data = page_data(kept("profile", report));
    REQUIRE(data.ok());
    CHECK(data->at("title") == "diopi profile: chip.so");
    CHECK(data->at("label") == "profile add");
    CHECK(data->at("summary") == "1 call measured on chip.so, hot.");
    CHECK(data->at("base").at("name") == "libdiopi_torch.so");
    CHECK(data->at("failures") == 0);
    REQUIRE(data->at("calls").size() == 2);
    std::map<std::string, Json> first;
    for (size_t i = 0; i < data->at("columns").size(); ++i) first[data->at("columns")[i]] = data->at("calls")[0][i];
    CHECK(first["name"] == "add");
    CHECK(first["shapes"] == "[2, 3] [4]");
    CHECK(first["roof_s"] == 0.01235);
    CHECK(first["ratio"] == 2.0);
    CHECK(first["high"].is_null());
    CHECK(first["verdict"] == "SLOWER");
    CHECK(data->at("calls")[1][5] == "not implemented");
    CHECK(data->at("calls")[1][6].is_null());
}

TEST_CASE("a page of a comparison has the differences, and the course of a capture", "[report][html]") {
    CompareRow skipped = compared("call 2", true);
    skipped.skipped = "random numbers";
    const auto data =
        page_data(kept("compare", compare_report({compared("call 0", true), compared("call 1", false), skipped})));
    REQUIRE(data.ok());
    CHECK_THAT(data->at("summary").get<std::string>(), Contains("1 of 2 tensors differ, the first at call 1"));
    CHECK(data->at("failures") == 1);
    REQUIRE(data->at("differences").size() == 1);
    CHECK(data->at("differences")[0].at("where") == "call 1");
    CHECK(data->at("course") ==
          Json({{"call 0", "relu", "layer1", 0.5, 0.25, false}, {"call 1", "relu", "layer1", 0.5, 0.25, true}}));
    CHECK(data->at("operators")[0].at("tensors") == 2);
    CHECK(data->at("skipped")[0].at("names") == "relu");
    const auto cases = page_data(kept("compare", compare_report({compared("ops/relu.relu.0 forward", true)})));
    CHECK(cases->at("course").empty());
}

TEST_CASE("a page of a bisection says what is to blame", "[report][html]") {
    const auto data =
        page_data(kept("bisect", {{"backend", "cpu"},
                                  {"to", "cpu"},
                                  {"end", "found"},
                                  {"reason", "out differs"},
                                  {"flaky", false},
                                  {"functions", {{{"function", "diopiRelu"}, {"overloads", {"relu"}}, {"calls", 17}}}},
                                  {"calls", Json::array()},
                                  {"replays", 9}}));
    REQUIRE(data.ok());
    CHECK(data->at("summary") == "found: 1 function to blame after 9 replays.");
    CHECK(data->at("failures") == 1);
}

TEST_CASE("a kept report without a member is refused by its kind", "[report][html]") {
    for (const std::string_view kind : kKeptKinds) {
        const auto data = page_data(kept(std::string(kind), {{"backend", "cpu"}, {"against", 3}}));
        REQUIRE_FALSE(data.ok());
        CHECK(data.error().code == Errc::kBadInput);
        CHECK_THAT(data.error().message, Contains(std::string(kind)) && Contains("run it again"));
    }
    Json report = compare_report({compared("call 0", true)});
    report["tensors"][0].erase("place");
    CHECK_FALSE(page_data(kept("compare", report)).ok());
}

TEST_CASE("a page of several runs names their number, and each run without a script", "[report][html]") {
    HtmlPage several;
    several.add(run_that_passed({passed("a.0")}));
    REQUIRE(several.add(std::vector<KeptReport>{kept("profile", profile_report({call("add", 0.5)}))}).ok());
    const std::string page = several.text();
    CHECK_FALSE(several.has_failures());
    CHECK_THAT(page, Contains("<title>diopi: 2 runs</title>") && Contains("<p>diopi test: chip.so: 1 case: 1 passed") &&
                         Contains("<p>diopi profile: chip.so: 1 call measured"));
    CHECK(page_label({"diopi", "test", "--run", "x", "conv2d", "--fill", "special", "--strided", "--nhwc",
                      "--level"}) == "test conv2d --fill special --strided --n ...");
    CHECK(page_label({}).empty());
}

}  // namespace diopi
