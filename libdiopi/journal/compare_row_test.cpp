#include "journal/compare_row.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

namespace diopi {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

CompareRow some_row() {
    CompareRow row;
    row.where = "call 3";
    row.name = "relu 0th input";
    row.layer = "layer1.0";
    row.overload = "relu";
    row.function = "diopiRelu";
    row.forward_id = 7;
    row.place = "input";
    row.tensor = "float32[2]";
    row.seed = "numel:2";
    row.cosine = std::nan("");
    row.max_abs = kInfinity;
    row.max_rel = -kInfinity;
    row.atol = 1e-4;
    row.rtol = 0.1;
    row.error = "1 at (0,) where NaN is expected; \"first\"\n";
    row.inputs = {"input: numel:2", "alpha: 1"};
    row.outputs = {"out: numel:2"};
    row.cast = "float16 and float32 as float32";
    row.other_layer = "module.layer1.0";
    row.out_of_order = true;
    row.after = "call 2, mm";
    row.ulp.emplace().counts[3] = 2;
    return row;
}

}  // namespace

TEST_CASE("a compared row comes back from its JSON line, NaN and infinities included", "[journal][compare]") {
    const CompareRow row = some_row();
    const std::string line = to_json_line(row);
    CHECK(line.find('\n') == std::string::npos);
    const auto again = compare_row_from_json(line);
    REQUIRE(again);
    CHECK(std::isnan(again->cosine.value()));
    CHECK(again->max_abs == kInfinity);
    CHECK(again->max_rel == -kInfinity);
    CHECK(again->atol == 1e-4);
    CHECK(again->error == row.error);
    CHECK(again->inputs == row.inputs);
    CHECK(again->outputs == row.outputs);
    CHECK(again->forward_id == row.forward_id);
    CHECK(again->layer == row.layer);
    CHECK(again->cast == row.cast);
    CHECK(again->other_layer == row.other_layer);
    CHECK(again->out_of_order);
    CHECK(again->after == row.after);
    CHECK(again->differs());
    CHECK(again->ulp == row.ulp);
    CHECK_FALSE(again->other_ulp);
    CHECK(to_json_line(*again) == line);
}

TEST_CASE("a row that was not compared has the reason, and a foreign line is not a row", "[journal][compare]") {
    CompareRow row = some_row();
    row.skipped = "random";
    const auto again = compare_row_from_json(to_json_line(row));
    REQUIRE(again);
    CHECK(again->skipped == "random");
    CHECK(again->place.empty());
    CHECK_FALSE(again->differs());
    CompareRow alone = some_row();
    alone.only_in = "more";
    alone.allclose = true;
    const auto same = compare_row_from_json(to_json_line(alone));
    REQUIRE(same);
    CHECK(same->only_in == "more");
    CHECK(same->error == alone.error);
    CHECK(same->differs());
    CHECK_FALSE(same->compared());
    for (const char* line : {"", "{}", "[dump 0] add", "{\"where\": 1}"}) CHECK_FALSE(compare_row_from_json(line));
}

}  // namespace diopi
