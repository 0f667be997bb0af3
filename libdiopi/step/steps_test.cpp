#include "step/steps.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "cases/testing.hpp"

namespace diopi {

namespace {

using testing::case_tensor;
using testing::make_case;

Case softmax_case(const FillSpec& gradients) {
    Case c = make_case("softmax", {case_tensor("input", {3, 5})}, {{"dim", Param{int64_t{1}}}});
    c.tensors[0].requires_grad = c.backward = true;
    c.grad_fill = gradients;
    return c;
}

/// The elements of the incoming gradient, or of the expected outgoing one.
std::vector<double> elements(const Tensor& tensor) {
    std::vector<double> out;
    for (int64_t i = 0; i < tensor.numel(); ++i) {
        out.push_back(tensor.dtype == Dtype::float64 ? tensor.data_as<double>()[i] : tensor.data_as<float>()[i]);
    }
    return out;
}

struct Gradients {
    std::vector<double> incoming, expected;
};

Gradients gradients_of(const Case& c) {
    auto steps = CaseSteps::create(c, 0, nullptr);
    REQUIRE(steps.ok());
    auto step = (*steps)->plan("backward");
    REQUIRE(step.ok());
    auto expected = (*steps)->expected(*step);
    REQUIRE(expected.ok());
    return {elements(*step->call.tensor("grad_output")), elements(*expected->front().tensor)};
}

}  // namespace

TEST_CASE("the incoming gradient is all ones unless the case has another fill", "[step][gradient]") {
    const Gradients ones = gradients_of(softmax_case(kOnesFill));
    CHECK(std::ranges::count(ones.incoming, 1.0) == 15);
    // A gradient of ones leaves only rounding errors behind a softmax.
    CHECK(std::ranges::all_of(ones.expected, [](double x) { return std::abs(x) < 1e-6; }));
    const Gradients drawn = gradients_of(softmax_case({Fill::kRandn}));
    CHECK(std::ranges::count(drawn.incoming, drawn.incoming.front()) == 1);
    CHECK(std::ranges::any_of(drawn.expected, [](double x) { return std::abs(x) > 1e-3; }));
    CHECK(drawn.incoming == gradients_of(softmax_case({Fill::kRandn})).incoming);
    const Gradients ranged = gradients_of(softmax_case({Fill::kUniform, 5, 6}));
    CHECK(std::ranges::all_of(ranged.incoming, [](double x) { return x >= 5 && x < 6; }));
}

TEST_CASE("another call is consistent unless it has a saved result of the step's own options", "[step]") {
    const auto is_consistent = [](Case c, const Param& other) {
        c.tensors[0].requires_grad = c.backward = true;
        c.other_params = {{c.params.front().first, other}};
        auto steps = CaseSteps::create(c, 0, nullptr);
        REQUIRE(steps.ok());
        CHECK((*steps)->plan("forward")->other_is_consistent);
        const auto step = (*steps)->plan("backward");
        REQUIRE(step.ok());
        REQUIRE(step->other_call.has_value());
        return step->other_is_consistent;
    };
    CHECK(is_consistent(make_case("leaky_relu", {case_tensor("input", {3, 5})}, {{"negative_slope", Param{0.25}}}),
                        Param{2.0}));
    // The norm, and the softmax along the other dim.
    CHECK_FALSE(is_consistent(make_case("norm", {case_tensor("input", {3, 5})}, {{"p", Param{int64_t{2}}}}),
                              Param{int64_t{1}}));
    CHECK_FALSE(is_consistent(make_case("softmax", {case_tensor("input", {3, 5})}, {{"dim", Param{int64_t{1}}}}),
                              Param{int64_t{0}}));
}

}  // namespace diopi
