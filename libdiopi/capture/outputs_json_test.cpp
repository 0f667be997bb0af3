#include "capture/outputs_json.hpp"

#include <catch2/catch.hpp>

namespace diopi {

namespace {

using Catch::Matchers::Contains;

/// The error for a text about diopiAdd's outputs.
std::string refused_outputs(const std::string& text) {
    const auto outputs = outputs_from_json(text, "f", *find_row("diopiAdd"));
    REQUIRE_FALSE(outputs.ok());
    CHECK(outputs.error().code == Errc::kBadInput);
    return outputs.error().message;
}

std::string output(const std::string& name, const std::string& strides = "[]") {
    return R"([{"name": ")" + name + R"(", "dtype": "float32", "shape": [2], "strides": )" + strides +
           R"(, "has_meaning": true}])";
}

}  // namespace

TEST_CASE("the description of a call's outputs comes back from JSON", "[store][outputs_json]") {
    const Row& row = *find_row("diopiAdd");
    const std::vector<OutputSpec> outputs = {{0, {{2, 3}, Dtype::bfloat16, {1, 2}}, false}};
    const auto back = outputs_from_json(outputs_to_json(row, outputs), "f", row);
    REQUIRE((back.ok() && back->size() == 1));
    CHECK(back->front().arg == 0);
    CHECK(back->front().spec == outputs[0].spec);
    CHECK_FALSE(back->front().has_meaning);
    const auto contiguous = outputs_from_json(output("out"), "f", row);
    REQUIRE(contiguous.ok());
    CHECK(contiguous->front().spec.strides.empty());
}

TEST_CASE("outputs that the function does not have are refused", "[store][outputs_json]") {
    CHECK_THAT(refused_outputs("{}"), Contains("f:1: /: expected a list of outputs"));
    CHECK_THAT(refused_outputs(output("input")), Contains("f:1: /0/name: diopiAdd has no output 'input'"));
    CHECK_THAT(refused_outputs(output("alpha")), Contains("/0/name: diopiAdd has no output 'alpha'"));
    CHECK_THAT(refused_outputs(output("outt")), Contains("/0/name: diopiAdd has no output 'outt'"));
    CHECK_THAT(refused_outputs(output("out", "[1, 1]")), Contains("/0/strides: 2 strides for 1 dims"));
    CHECK_THAT(refused_outputs("[{}]"), Contains("/0: the key 'name' is missing"));
    CHECK_THAT(refused_outputs("[1, 2, 3, 4, 5]"), Contains("expected a list of outputs"));
}

}  // namespace diopi
