#include "cases/bind.hpp"

#include <catch2/catch.hpp>

#include "cases/plan.hpp"
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

TEST_CASE("a null parameter leaves out the function that needs it") {
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

TEST_CASE("a case states the contrary of a negated argument under its alias") {
    for (const bool included : {false, true}) {
        const Case c = make_case("pool2d", {case_tensor("input", {2, 4, 4})},
                                 {{"mode", Param{std::string("avg")}},
                                  {"kernel_size", Param{int64_t{2}}},
                                  {"count_include_pad", Param{included}}});
        auto forward = bind_call(*find_row("diopiPool2d"), c, shape_tensors(c));
        REQUIRE(forward.ok());
        CHECK(forward->flag("exclusive") == !included);
        auto backward = bind_backward(*find_row("diopiPool2dBackward"), c, *forward, {});
        REQUIRE(backward.ok());
        CHECK(backward->flag("exclusive") == !included);
    }
}

TEST_CASE("one tensor stands for a list of one, and a list for no single tensor") {
    Case c = make_case("index", {case_tensor("input", {5, 4}), case_tensor("indices", {5}, Dtype::boolean)}, {});
    REQUIRE(rows_for(c).ok());
    auto call = bind_call(*find_row("diopiIndex"), c, shape_tensors(c));
    REQUIRE(call.ok());
    const auto* list = std::get_if<TensorList>(&(*call)["indices"]);
    REQUIRE(list != nullptr);
    REQUIRE(list->size() == 1);
    CHECK(list->front()->shape == Shape{5});
    CHECK(std::get<int64_t>((*call)["nums"]) == 1);
    c.tensors[0].is_list = true;
    CHECK_FALSE(rows_for(c).ok());
}

TEST_CASE("the absent index tensors of a case are the dims that the others leave") {
    CaseTensor first = case_tensor("idx1", {1}, Dtype::int64), none = case_tensor("idx2", {}), last;
    last = case_tensor("idx3", {5, 6}, Dtype::boolean);
    for (CaseTensor* tensor : {&first, &none, &last}) tensor->list = "indices";
    none.absent = true;
    const auto present = [](const Case& c) {
        auto call = bind_call(*find_row("diopiIndex"), c, shape_tensors(c));
        REQUIRE(call.ok());
        std::string text;
        for (const TensorPtr& index : std::get<TensorList>((*call)["indices"])) text += index == nullptr ? ':' : 'i';
        CHECK(call->integer("nums") == static_cast<int64_t>(text.size()));
        return text;
    };
    const CaseTensor input = case_tensor("input", {2, 3, 4, 5, 6});
    CHECK(present(make_case("index", {input, first, none, last})) == "i::i");
    CHECK(present(make_case("index", {input, none, last})) == ":::i");
    CHECK(present(make_case("index", {input, first, none})) == "i");
}

TEST_CASE("a case of an operator without a shape rule is not refused for its words") {
    const Case c = make_case("nms_mmcv", {case_tensor("dets", {8, 4})}, {{"threshold", Param{2.0}}});
    const auto rows = rows_for(c);
    REQUIRE_FALSE(rows.ok());
    CHECK(rows.error().code == Errc::kNotImplemented);
    CHECK_THAT(rows.error().message, Catch::Contains("is not described yet"));
    CHECK(plan(c).ok());
}

TEST_CASE("the mode of a case chooses the function, and factors become sizes") {
    const auto call_of = [](const std::string& mode, const Param& size, const Param& factor) {
        const Case c = make_case("interpolate", {case_tensor("input", {1, 2, 8, 5})},
                                 {{"mode", Param{mode}}, {"size", size}, {"scale_factor", factor}});
        const auto rows = rows_for(c);
        REQUIRE(rows.ok());
        return bind_call(*rows->forward, c, shape_tensors(c));
    };
    const Param factors{std::vector<Param>{Param{0.5}, Param{1.3}}}, none{};
    auto call = call_of("bicubic", none, factors);
    REQUIRE(call.ok());
    CHECK(call->row == find_row("diopiUpsampleLinear"));
    const Case linear = make_case("interpolate", {case_tensor("input", {1, 2, 8})},
                                  {{"mode", Param{std::string("linear")}}, {"size", Param{int64_t{3}}}});
    CHECK(rows_for(linear)->backward == find_row("diopiUpsampleLinearBackward"));
    CHECK(*call->ints("size") == IntList{4, 6});
    call = call_of("nearest", none, Param{int64_t{3}});
    REQUIRE(call.ok());
    CHECK(call->row == find_row("diopiUpsampleNearest"));
    CHECK(*call->ints("size") == IntList{24, 15});
    CHECK_FALSE(call_of("nearest", Param{int64_t{4}}, factors).ok());
}

TEST_CASE("regions are pooled to both sides of output_size, and the gradient states each size of the input") {
    Case c = make_case("roi_align", {case_tensor("input", {2, 3, 8, 5}), case_tensor("boxes", {4, 5})},
                       {{"output_size", Param{std::vector<Param>{Param{int64_t{7}}, Param{int64_t{2}}}}}});
    const auto forward = bind_call(*find_row("diopiRoiAlign"), c, shape_tensors(c));
    REQUIRE(forward.ok());
    CHECK(forward->integer("pooled_height") == 7);
    CHECK(forward->integer("pooled_width") == 2);
    const auto backward = bind_backward(*find_row("diopiRoiAlignBackward"), c, *forward, {});
    REQUIRE(backward.ok());
    CHECK(backward->integer("batch_size") == 2);
    CHECK(backward->integer("channels") == 3);
    CHECK(backward->integer("height") == 8);
    CHECK(backward->integer("width") == 5);
}

TEST_CASE("a negative padding_idx of an embedding counts from the end, and null is none") {
    for (const auto& [given, wanted] : {std::pair{Param{int64_t{4}}, 4}, {Param{int64_t{-10}}, 0}, {Param{}, -1}}) {
        const Case c = embedding_case(given);
        const auto rows = rows_for(c);
        REQUIRE(rows.ok());
        const auto forward = bind_call(*rows->forward, c, shape_tensors(c));
        REQUIRE(forward.ok());
        CHECK(forward->integer("padding_idx") == wanted);
        const auto backward = bind_backward(*rows->backward, c, *forward, {});
        REQUIRE(backward.ok());
        CHECK(backward->integer("padding_idx") == wanted);
        CHECK(backward->integer("num_weights") == 10);
    }
}

TEST_CASE("a gradient that the C function names out is found by its alias") {
    Case c = embedding_case(Param{});
    c.tensors[1].requires_grad = true;
    const auto rows = rows_for(c);
    REQUIRE(rows.ok());
    const auto forward = bind_call(*rows->forward, c, shape_tensors(c));
    REQUIRE(forward.ok());
    const auto backward = bind_backward(*rows->backward, c, *forward, {});
    REQUIRE(backward.ok());
    const auto gradients = wanted_gradients(*backward, c, *forward);
    REQUIRE(gradients.size() == 1);
    CHECK(gradients.front().arg == 0);
    CHECK(gradients.front().spec.shape == Shape{10, 3});
}

TEST_CASE("a gradient flows into each output that grad_outputs names, by default into all") {
    Case c = make_case("triangular_solve", {case_tensor("input", {2, 2}), case_tensor("A", {2, 2})});
    const Row& forward = *find_row("diopiTriangularSolve");
    const Row& backward = *find_row("diopiTriangularSolveBackward");
    auto gradients = incoming_gradients(backward, forward, c);
    REQUIRE(gradients.ok());
    REQUIRE(gradients->size() == 2);
    CHECK((*gradients)[0].arg == static_cast<size_t>(backward.find("grad_x")));
    CHECK((*gradients)[1].arg == static_cast<size_t>(backward.find("grad_cloned_mat")));
    CHECK((*gradients)[1].output == static_cast<size_t>(forward.find("cloned_mat")));
    CHECK(((*gradients)[0].flows && (*gradients)[1].flows));
    c.grad_outputs = {0};
    gradients = incoming_gradients(backward, forward, c);
    REQUIRE(gradients.ok());
    CHECK(((*gradients)[0].flows && !(*gradients)[1].flows));
}

TEST_CASE("grad_outputs without a function for them are refused when the case is planned") {
    Case c = make_case("sort", {case_tensor("input", {4})});
    c.tensors[0].requires_grad = c.backward = true;
    c.grad_outputs = {0};
    CHECK(plan(c).ok());
    c.grad_outputs = {1};
    CHECK_THAT(plan(c).message(), Catch::Contains("diopiSortBackward takes no gradient of output 1, 'indices'"));
    c.grad_outputs = {2};
    CHECK_THAT(plan(c).message(), Catch::Contains("diopiSort has 2 outputs") && Catch::Contains("no output 2"));
}
