#include "step/bounds.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "cases/testing.hpp"
#include "step/case_run.hpp"

namespace diopi {

namespace {

using testing::case_tensor;
using testing::make_case;

/// The bound of one result of a step.
Bound bound_of(const Case& c, const std::string& name, const std::string& result) {
    CaseOptions options;
    options.backend = *find_backend("cpu");
    auto steps = CaseSteps::create(c, 0, nullptr);
    REQUIRE(steps.ok());
    const auto step = (*steps)->plan(name);
    REQUIRE(step.ok());
    const StepRules rules = rules_for(c, options);
    const int at = step->call.row->find(result);
    REQUIRE(at >= 0);
    return bound_for(rules, *step, *step->result_at(static_cast<size_t>(at)));
}

/// The bound of the sum of two tensors, or of a tensor and a number, in the dtype of the first.
Bound bound_of_sum(Dtype own, Dtype other, bool is_number = false) {
    Case c = make_case("add", {case_tensor("input", {4}, own), case_tensor("other", {4}, other)});
    if (is_number) {
        c.tensors.pop_back();
        c.params.emplace_back("other", Param{0.7});
    }
    c.inplace = true;
    return bound_of(c, "inplace", "input");
}

Bound bound_of_maximum(Dtype input, Dtype other) {
    const Case c = make_case("maximum", {case_tensor("input", {4}, input), case_tensor("other", {4}, other)});
    return bound_of(c, "forward", "out");
}

}  // namespace

TEST_CASE("a result that is rounded to a wider dtype first may be further from a value of the output's dtype") {
    const double own = bound_of_sum(Dtype::bfloat16, Dtype::bfloat16).max_ulp;
    CHECK(own == 0.5);
    CHECK(bound_of_sum(Dtype::bfloat16, Dtype::float32).max_ulp == own + std::ldexp(0.5, 8 - 24));
    CHECK(bound_of_sum(Dtype::float16, Dtype::float32).max_ulp == own + std::ldexp(0.5, 11 - 24));
    CHECK(bound_of_sum(Dtype::float32, Dtype::float64).max_ulp == own + std::ldexp(0.5, 24 - 53));
    CHECK(bound_of_sum(Dtype::float32, Dtype::bfloat16).max_ulp == own);
    CHECK(bound_of_sum(Dtype::bfloat16, Dtype::bfloat16, true).max_ulp == own + std::ldexp(0.5, 8 - 24));
    CHECK(bound_of_sum(Dtype::float32, Dtype::float32, true).max_ulp == own);
}

TEST_CASE("an integer with more digits than float32 is rounded to it before it becomes a half type") {
    CHECK(bound_of_maximum(Dtype::bfloat16, Dtype::bfloat16).accuracy == AccuracyClass::A);
    CHECK(bound_of_maximum(Dtype::bfloat16, Dtype::int16).accuracy == AccuracyClass::A);
    CHECK(bound_of_maximum(Dtype::float32, Dtype::int16).accuracy == AccuracyClass::A);
    const Bound half = bound_of_maximum(Dtype::bfloat16, Dtype::int64);
    CHECK(half.accuracy == AccuracyClass::B);
    CHECK(half.max_ulp == 0.5 + std::ldexp(0.5, 8 - 24));
    CHECK(bound_of_maximum(Dtype::float32, Dtype::int64).max_ulp == 0.5 + std::ldexp(0.5, 24 - 53));
    CHECK(bound_of_maximum(Dtype::float64, Dtype::int64).accuracy == AccuracyClass::A);
    CHECK(bound_of_maximum(Dtype::int32, Dtype::int64).accuracy == AccuracyClass::A);
}

TEST_CASE("a quotient by large integers has several roundings, and the reference knows those of a whole one") {
    const auto bound_of_quotient = [](const char* mode) {
        Case c = make_case("div", {case_tensor("input", {4}, Dtype::int32), case_tensor("other", {4}, Dtype::float32)});
        c.params.emplace_back("rounding_mode", Param{std::string(mode)});
        return bound_of(c, "forward", "out");
    };
    CHECK(bound_of_quotient("none").accuracy == AccuracyClass::D);
    CHECK(bound_of_quotient("trunc").accuracy == AccuracyClass::B);
    CHECK(bound_of_quotient("floor").accuracy == AccuracyClass::B);
}

TEST_CASE("a complex modulus has several roundings, that of a real number none") {
    const auto bound_of_modulus = [](Dtype dtype) {
        return bound_of(make_case("abs", {case_tensor("input", {4}, dtype)}), "forward", "out");
    };
    CHECK(bound_of_modulus(Dtype::float64).accuracy == AccuracyClass::B);
    CHECK(bound_of_modulus(Dtype::complex128).accuracy == AccuracyClass::D);
    CHECK(bound_of_modulus(Dtype::complex64).accumulation_length == 4);
}

}  // namespace diopi
