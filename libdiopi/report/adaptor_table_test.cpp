#include "report/adaptor_table.hpp"

#include <catch2/catch.hpp>

namespace diopi {

namespace {

using Catch::Matchers::Contains;

AdaptedFunctions two() {
    AdaptedFunctions functions;
    functions["add"] = {2, 6, 1, 600, 1e-3, {"float64 in float32"}};
    functions["neg"] = {1, 2, 2, 20000, 2e-3, {"float64 in float32", "int64 in int32"}};
    return functions;
}

}  // namespace

TEST_CASE("the adaptor's table has the slowest function first and the sum last", "[report][adaptor]") {
    const std::string text = adaptor_table(two()).render(200, false);
    CHECK(text.find("neg") < text.find("add"));
    CHECK_THAT(text, Contains("20.0 KB") && Contains("2.000ms"));
    CHECK_THAT(text.substr(text.find("all")), Contains("3") && Contains("8") && Contains("20.6 KB"));
    CHECK(adaptor_line(two()) ==
          "3 calls adapted: 8 conversions (3 by the host), 20.6 KB, 3.000 ms; computed: float64 in float32, int64 in "
          "int32");
}

TEST_CASE("adapted steps are summed by function", "[report][adaptor]") {
    CaseResult result;
    StepResult step;
    step.function = "add";
    result.steps.push_back(step);
    CHECK(adapted_functions({result}).empty());
    result.steps.front().adapted = {1, 3, 0, 100, 1e-6, {"float64 in float32"}};
    const AdaptedFunctions functions = adapted_functions({result, result});
    REQUIRE(functions.size() == 1);
    CHECK(functions.at("add").calls == 2);
    CHECK(functions.at("add").nbytes == 200);
    CHECK(functions.at("add").casts.size() == 1);
    CHECK_THAT(adaptor_json(functions), Contains(R"("function":"add","calls":2,"conversions":6)"));
}

}  // namespace diopi
