#include "gui/kept_compare_view.hpp"

#include <catch2/catch.hpp>
#include <cmath>

namespace diopi {

namespace {

CompareRow row_of(const std::string& where, const std::string& layer, std::optional<double> cosine, bool allclose) {
    CompareRow row;
    row.where = where;
    row.name = row.overload = "relu";
    row.layer = layer;
    row.cosine = cosine;
    row.allclose = allclose;
    return row;
}

}  // namespace

TEST_CASE("the course of a comparison has the angles of its tensors, those that differ last", "[gui]") {
    KeptComparison comparison;
    comparison.rows = {row_of("call 0", "stem", 1, true), row_of("call 1", "head", 0.5, false),
                       row_of("call 2", "head", std::nan(""), true), row_of("call 3", "head", std::nullopt, true)};
    CompareRow skipped = row_of("call 4", "head", 1, true);
    skipped.skipped = "random numbers";
    comparison.rows.push_back(skipped);
    KeptCompareView view(comparison);
    CHECK(view.tensors() == 4);
    CHECK(view.different() == 1);
    CHECK(view.skipped().size() == 1);
    CHECK_FALSE(view.has_ulp());
    REQUIRE(view.course().size() == 4);
    CHECK(view.course()[0].angle == 0);
    CHECK(view.course()[0].place == Approx(0.2));
    CHECK(view.course()[1].angle == kAngles.high);
    CHECK(view.course()[2].angle == 0);
    CHECK(view.course()[3].angle == Approx(1));
    CHECK(view.course()[3].place == Approx(0.4));
    view.choose("stem");
    CHECK(view.differences().empty());
    CHECK(view.course().size() == 1);
    CHECK(view.operators()[0].second.tensors == 1);
    view.choose("head");
    REQUIRE(view.differences().size() == 1);
    CHECK(view.differences()[0] == &view.comparison().rows[1]);
    comparison.rows.push_back(row_of("ops/relu.relu.0 forward", "", 1, true));
    CHECK_FALSE(KeptCompareView(comparison).has_course());
}

}  // namespace diopi
