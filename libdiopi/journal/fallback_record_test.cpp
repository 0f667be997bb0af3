#include "journal/fallback_record.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

namespace diopi {

TEST_CASE("the record of a fallback comes back from its JSON, NaN and infinities included", "[journal][fallback]") {
    FallbackRecord record;
    record.backend = "sim";
    record.other = "cpu";
    record.calls = 7;
    record.rows.push_back(
        {"add.Tensor", "diopiAdd", FallbackReason::kDeclined, 3, {2, 800, 1e-3}, {1, 400, 5e-4}, 0.25, 0.5});
    record.missing = {{"cdist", 2}};
    record.step_seconds = 0.125;
    record.waited_seconds_with = 4;
    record.results = 2;
    record.changed = {{"t1", std::numeric_limits<double>::infinity(), std::nan(""), false}};
    record.unmatched = {"nothing"};
    record.lines = {"OpFallbackHook: add"};
    const std::string text = to_json(record);
    const FallbackRecord again = fallback_from_json(text);
    REQUIRE(again.rows.size() == 1);
    CHECK(again.rows[0].reason == FallbackReason::kDeclined);
    CHECK(again.rows[0].in.nbytes == 800);
    CHECK(again.rows[0].other_seconds == 0.5);
    REQUIRE(again.changed.size() == 1);
    CHECK(std::isinf(again.changed[0].max_abs));
    CHECK(std::isnan(again.changed[0].max_rel));
    CHECK(again.backend + again.other == "simcpu");
    CHECK(again.missing == record.missing);
    CHECK(again.unmatched == record.unmatched);
    CHECK(to_json(again) == text);
}

TEST_CASE("a text that is not the record of a fallback is refused", "[journal][fallback]") {
    FallbackRecord record;
    record.rows.resize(1);
    std::string text = to_json(record);
    text.replace(text.find("forced"), 6, "unheard");
    for (const std::string& bad : {std::string(), std::string("{}"), text}) CHECK_THROWS(fallback_from_json(bad));
}

}  // namespace diopi
