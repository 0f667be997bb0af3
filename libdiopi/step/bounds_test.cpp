#include "step/bounds.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "cases/testing.hpp"
#include "step/case_run.hpp"

namespace diopi {

namespace {

using testing::case_tensor;
using testing::make_case;

/// The bound of the sum of two tensors, or of a tensor and a number, in the dtype of the first.
Bound bound_of_sum(Dtype own, Dtype other, bool is_number = false) {
    Case c = make_case("add", {case_tensor("input", {4}, own), case_tensor("other", {4}, other)});
    if (is_number) {
        c.tensors.pop_back();
        c.params.emplace_back("other", Param{0.7});
    }
    c.inplace = true;
    CaseOptions options;
    options.backend = *find_backend("cpu");
    auto steps = CaseSteps::create(c, 0, nullptr);
    REQUIRE(steps.ok());
    const auto step = (*steps)->plan("inplace");
    REQUIRE(step.ok());
    const StepRules rules = rules_for(c, options);
    const int at = step->call.row->find("input");
    REQUIRE(at >= 0);
    return bound_for(rules, *step, *step->result_at(static_cast<size_t>(at)));
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

}  // namespace diopi
