#include "cases/bind.hpp"

#include <catch2/catch.hpp>

#include "cases/testing.hpp"

using namespace diopi;
using diopi::testing::case_tensor;
using diopi::testing::make_case;

namespace {

Case embedding_case(const Param& padding) {
    return make_case("embedding", {case_tensor("input", {4}, Dtype::int64), case_tensor("weight", {10, 3})},
                     {{"padding_idx", padding}, {"max_norm", Param{2.0}}, {"norm_type", Param{std::string("inf")}}});
}

}  // namespace

TEST_CASE("a parameter that is null leaves the function out that needs it") {
    Case c = make_case("bernoulli", {case_tensor("input", {4})}, {{"p", Param{}}});
    auto rows = rows_for(c);
    REQUIRE(rows.ok());
    CHECK(rows->forward == find_row("diopiBernoulli"));
    CHECK(rows->inplace == find_row("diopiBernoulliInp"));
    c.params = {{"p", Param{0.5}}};
    rows = rows_for(c);
    REQUIRE(rows.ok());
    CHECK(rows->forward == nullptr);
    CHECK(rows->inplace == find_row("diopiBernoulliScalar"));
    c.params = {{"q", Param{}}};
    rows = rows_for(c);
    REQUIRE_FALSE(rows.ok());
    CHECK_THAT(rows.error().message, Catch::Contains("operator bernoulli has no argument 'q'"));
}

TEST_CASE("padding_idx of an embedding counts from the back where it is negative, and null is none") {
    for (const auto& [given, wanted] : {std::pair{Param{int64_t{4}}, 4}, {Param{int64_t{-10}}, 0}, {Param{}, -1}}) {
        const Case c = embedding_case(given);
        const auto rows = rows_for(c);
        REQUIRE(rows.ok());
        const auto forward = bind_call(*rows->forward, c, shape_tensors(c));
        REQUIRE(forward.ok());
        CHECK(forward->integer("padding_idx") == wanted);
        const auto backward = bind_backward(*rows->backward, c, *forward, nullptr);
        REQUIRE(backward.ok());
        CHECK(backward->integer("padding_idx") == wanted);
        CHECK(backward->integer("num_weights") == 10);
    }
}

TEST_CASE("a gradient that the C function calls out is known by its alias") {
    Case c = embedding_case(Param{});
    c.tensors[1].requires_grad = true;
    const auto rows = rows_for(c);
    REQUIRE(rows.ok());
    const auto forward = bind_call(*rows->forward, c, shape_tensors(c));
    REQUIRE(forward.ok());
    const auto backward = bind_backward(*rows->backward, c, *forward, nullptr);
    REQUIRE(backward.ok());
    const auto gradients = wanted_gradients(*backward, c, *forward);
    REQUIRE(gradients.size() == 1);
    CHECK(gradients.front().arg == 0);
    CHECK(gradients.front().spec.shape == Shape{10, 3});
}
