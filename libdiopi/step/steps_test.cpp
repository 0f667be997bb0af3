#include "step/steps.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

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

TEST_CASE("the incoming gradient repeats its elements if the case says so", "[step][gradient]") {
    Case c = softmax_case({Fill::kRandn});
    const auto strides = [&](Repeats repeats) {
        c.grad_repeats = repeats;
        auto steps = CaseSteps::create(c, 0, nullptr);
        REQUIRE(steps.ok());
        REQUIRE((*steps)->plan("forward").ok());
        const auto step = (*steps)->plan("backward");
        REQUIRE(step.ok());
        return step->call.tensor("grad_output")->strides;
    };
    CHECK(strides(Repeats::kNone) == Shape{5, 1});
    CHECK(strides(Repeats::kFirst) == Shape{0, 1});
    CHECK(strides(Repeats::kAll) == Shape{0, 0});
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

TEST_CASE("the numbers of hard cases have other dtypes that hold them, too", "[step]") {
    const auto dtypes_of = [](double slope) {
        Case c =
            make_case("leaky_relu", {case_tensor("input", {3, 5}, Dtype::float16)}, {{"negative_slope", Param{slope}}});
        c.suite = kHardSuite;
        std::set<Dtype> dtypes;
        for (c.index = 0; c.index < 100; ++c.index) {
            auto steps = CaseSteps::create(c, 0, nullptr);
            REQUIRE(steps.ok());
            const auto step = (*steps)->plan("forward");
            REQUIRE(step.ok());
            const auto number = std::get<Scalar>(step->call["negative_slope"]);
            CHECK(number.as_double() == slope);
            dtypes.insert(number.dtype);
        }
        return dtypes;
    };
    CHECK(dtypes_of(0.25) == std::set{Dtype::float64, Dtype::float32, Dtype::float16});
    CHECK(dtypes_of(0.1) == std::set{Dtype::float64});
}

TEST_CASE("opaque tensors are not expected, also of a random call", "[step]") {
    Case c = make_case(
        "customized_flash_attention",
        {case_tensor("q", {1, 3, 2, 4}), case_tensor("k", {1, 5, 2, 4}), case_tensor("v", {1, 5, 2, 4})},
        {{"p_dropout", Param{0.5}}, {"head_num", Param{int64_t{2}}}, {"input_layout", Param{std::string("BSND")}}});
    for (const bool is_random : {false, true}) {
        c.random = is_random;
        auto steps = CaseSteps::create(c, 0, nullptr);
        REQUIRE(steps.ok());
        const auto step = (*steps)->plan("forward");
        REQUIRE(step.ok());
        const auto expected = (*steps)->expected(*step);
        REQUIRE(expected.ok());
        REQUIRE(expected->size() == 1);
        CHECK(step->call.row->args()[expected->front().arg].name == "attention_out");
    }
}

}  // namespace diopi
