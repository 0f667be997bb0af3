#include "cases/case_expression.hpp"

#include <catch2/catch.hpp>

using namespace diopi;

namespace {

bool holds(const char* expression, const char* text) {
    const auto parsed = CaseExpression::parse(expression);
    INFO(expression);
    REQUIRE(parsed.ok());
    return parsed->matches(std::string(text));
}

std::string error_of(const char* expression) {
    const auto parsed = CaseExpression::parse(expression);
    REQUIRE_FALSE(parsed.ok());
    return parsed.error().message;
}

}  // namespace

TEST_CASE("a word of an expression holds where it occurs") {
    CHECK(holds("relu", "ops/relu.relu.3 float32"));
    CHECK_FALSE(holds("gelu", "ops/relu.relu.3 float32"));
    CHECK(holds("ReLU", "ops/relu.relu.3"));
}

TEST_CASE("not binds closer than and, and that closer than or") {
    CHECK(holds("a or b and c", "a"));
    CHECK_FALSE(holds("(a or b) and c", "a"));
    CHECK_FALSE(holds("not a and b", "a b"));
    CHECK(holds("not (a and b)", "a"));
    CHECK(holds("not not a", "a"));
}

TEST_CASE("an expression without an end, or with words side by side, is refused at its place") {
    CHECK_THAT(error_of("add and"), Catch::Contains("expected a word, got the end at character 8"));
    CHECK_THAT(error_of("add mul"), Catch::Contains("expected 'and', 'or' or the end, got 'mul' at character 5"));
    CHECK_THAT(error_of("(add"), Catch::Contains("expected ')'"));
    CHECK_THAT(error_of(""), Catch::Contains("expected a word"));
    CHECK_THAT(error_of(std::string(1000, '(').c_str()), Catch::Contains("too many levels"));
}

TEST_CASE("a case is selected by its id, its dtypes and its levels") {
    Case c;
    c.suite = "ops";
    c.group = "relu";
    c.op = "relu";
    c.index = 3;
    CaseTensor tensor;
    tensor.specs = {{{2}, Dtype::bfloat16, {}}};
    c.tensors = {tensor};
    c.choices = {{"layout", "first transposed"}};
    CHECK(CaseExpression::parse("relu and bfloat16 and transposed")->matches(c));
    CHECK_FALSE(CaseExpression::parse("relu and float64")->matches(c));
    CHECK(CaseExpression()  // selects all
              .matches(c));
}
