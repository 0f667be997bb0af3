#include "gui/kept_views.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace diopi {

namespace {

using Catch::Matchers::Contains;

KeptFollower::Change written(const std::string& path, const std::string& kind, Json report) {
    return {path, KeptReport{kind, {"diopi", kind}, "today", "a machine", std::make_shared<Json>(std::move(report))}};
}

Json bisection() {
    return {
        {"backend", "cpu"},       {"to", "cpu"},
        {"end", "found"},         {"reason", "out differs"},
        {"flaky", false},         {"functions", {{{"function", "diopiRelu"}, {"overloads", {"relu"}}, {"calls", 17}}}},
        {"calls", Json::array()}, {"replays", 9}};
}

}  // namespace

TEST_CASE("a report replaces the older one of its file, and a damaged one says so", "[gui]") {
    KeptViews views;
    CHECK(views.empty());
    views.take({written("run/bisect.json", "bisect", bisection())});
    REQUIRE(views.bisection() != nullptr);
    CHECK(views.bisection()->about.command == "diopi bisect");
    CHECK(views.bisection()->view.functions().size() == 1);
    CHECK(views.profile() == nullptr);
    views.choose("softmax");
    CHECK(views.bisection()->view.functions().empty());
    // A report that is read later has the filter, too.
    views.take({written("run/bisect.json", "bisect", bisection())});
    CHECK(views.bisection()->view.functions().empty());
    Json damaged = bisection();
    damaged.erase("reason");
    views.take({written("run/bisect.json", "bisect", damaged)});
    CHECK(views.bisection() == nullptr);
    REQUIRE(views.problems().size() == 1);
    CHECK_THAT(views.problems()[0], Contains("run/bisect.json") && Contains("damaged"));
    views.take({{"run/bisect.json", std::nullopt}});
    CHECK(views.empty());
}

TEST_CASE("each kind of kept report has its view, and lacks no member", "[gui]") {
    KeptViews views;
    const Json roofs = {{"copy", Json::array()}, {"matmul_flops_per_s", Json::object()}, {"empty_call_s", 0}};
    views.take({written("a", "profile",
                        {{"backend", "lib/chip.so"}, {"mode", "hot"}, {"roofs", roofs}, {"calls", Json::array()}}),
                written("b", "compare", {{"backend", "cpu"}, {"against", "reference"}, {"tensors", Json::array()}}),
                written("c", "fallback", {{"backend", "cpu"}})});
    REQUIRE(views.profile() != nullptr);
    CHECK(views.profile()->view.profile().heading.subject == "chip.so");
    REQUIRE(views.comparison() != nullptr);
    CHECK(views.comparison()->view.comparison().heading.subject == "cpu and reference");
    CHECK(views.fallback() == nullptr);
    CHECK(views.problems().size() == 1);
}

}  // namespace diopi
