#include "cases/variant.hpp"

#include <catch2/catch.hpp>

#include "cases/bind.hpp"
#include "cases/plan.hpp"
#include "cases/testing.hpp"
#include "runtime/device.hpp"

using namespace diopi;
using diopi::testing::case_tensor;
using diopi::testing::make_case;

namespace {

VariedCase varied(const Case& c, const VariantOptions& options) {
    auto result = vary(c, options);
    INFO((result.ok() ? "" : result.error().message));
    REQUIRE(result.ok());
    INFO(result->skip_reason);
    if (result->skip_reason.empty()) CHECK(plan(result->changed).ok());
    return *result;
}

Case changed(const Case& c, const VariantOptions& options) {
    VariedCase result = varied(c, options);
    CHECK(result.skip_reason.empty());
    return result.changed;
}

std::string reason(const Case& c, const VariantOptions& options) { return varied(c, options).skip_reason; }

const Shape& shape_of(const Case& c, size_t tensor) { return c.tensors[tensor].specs.front().shape; }
Dtype dtype_of(const Case& c, size_t tensor) { return c.tensors[tensor].specs.front().dtype; }

Case nll(Dtype target = Dtype::int64) {
    CaseTensor classes = case_tensor("target", {4}, target);
    classes.fill = {.fn = Fill::kRandint, .low = 0, .high = 3};
    return make_case("nll_loss", {case_tensor("input", {4, 3}), classes, case_tensor("weight", {3})});
}

Case add(Shape input, Shape other) {
    return make_case("add", {case_tensor("input", std::move(input)), case_tensor("other", std::move(other))});
}

}  // namespace

TEST_CASE("without options a case stays as it is", "[variant]") {
    const Case c = changed(nll(), {});
    CHECK(c.fingerprint() == nll().fingerprint());
    CHECK_FALSE(c.varied);
}

TEST_CASE("a fill replaces values that have no meaning of their own", "[variant]") {
    const Case c = changed(nll(), {.fill = Fill::kExact});
    CHECK(c.tensors[0].fill.fn == Fill::kExact);
    CHECK(c.tensors[1].fill.fn == Fill::kRandint);
    CHECK(c.tensors[2].fill.fn == Fill::kRandn);
    CHECK(c.varied);
    CHECK(c.id() == nll().id());
}

TEST_CASE("a fill keeps masks, bools, given values, poison and sparse tensors", "[variant]") {
    const auto kept = [](CaseTensor other) {
        const Fill before = other.fill.fn;
        const Case c =
            changed(make_case("add", {case_tensor("input", {2, 2}), std::move(other)}), {.fill = Fill::kPositive});
        CHECK(c.tensors[0].fill.fn == Fill::kPositive);
        return c.tensors[1].fill.fn == before;
    };
    CaseTensor mask = case_tensor("other", {2, 2}), given = mask, poison = mask, sparse = mask;
    mask.fill.fn = Fill::kMask;
    given.fill.fn = Fill::kValue;
    given.values = {1, 2, 3, 4};
    poison.fill.fn = Fill::kEmpty;
    sparse.sparse_csr = true;
    CHECK(kept(mask));
    CHECK(kept(given));
    CHECK(kept(poison));
    CHECK(kept(sparse));
    CHECK(kept(case_tensor("other", {2, 2}, Dtype::boolean)));
    CHECK_FALSE(kept(case_tensor("other", {2, 2}, Dtype::int32)));
}

TEST_CASE("a case that runs a function that sums gets special numbers for sums", "[variant]") {
    const VariantOptions special = {.fill = Fill::kSpecial};
    CHECK(changed(add({2}, {2}), special).tensors[0].fill.fn == Fill::kSpecial);
    CHECK(changed(make_case("sum", {case_tensor("input", {2, 3})}), special).tensors[0].fill.fn == Fill::kSpecialSums);
    const Case linear =
        changed(make_case("linear", {case_tensor("weight", {4, 3}), case_tensor("input", {2, 3})}), special);
    CHECK(linear.tensors[0].fill.fn == Fill::kSpecialFactors);
    CHECK(linear.tensors[1].fill.fn == Fill::kSpecialSums);
    Case spread =
        make_case("conv_transpose2d", {case_tensor("input", {1, 2, 4, 4}), case_tensor("weight", {2, 3, 2, 2})});
    CHECK(changed(spread, special).tensors[0].fill.fn == Fill::kSpecialSums);
    spread.backward = true;
    spread.tensors[0].requires_grad = true;
    CHECK(changed(spread, special).tensors[0].fill.fn == Fill::kSpecialFactors);
    Case pool = make_case("max_pool2d", {case_tensor("input", {1, 2, 4, 4})}, {{"kernel_size", {int64_t{2}}}});
    CHECK(changed(pool, special).tensors[0].fill.fn == Fill::kSpecial);
    pool.backward = true;
    pool.tensors[0].requires_grad = true;
    CHECK(changed(pool, special).tensors[0].fill.fn == Fill::kSpecialSums);
}

TEST_CASE("a case without replaceable values is skipped", "[variant]") {
    Case c = add({2}, {2});
    for (CaseTensor& t : c.tensors) t.fill.fn = Fill::kMask;
    CHECK(reason(c, {.fill = Fill::kExact}) == "add: no argument of this case may have other values");
}

TEST_CASE("captured values are found by operator and argument", "[variant]") {
    auto values = make_tensor(cpu_device(), {{2}, Dtype::float64, {}});
    REQUIRE(values.ok());
    std::vector<std::string> asked;
    VariantOptions options = {.fill = Fill::kCaptured};
    options.captured = [&](std::string_view op, std::string_view argument) -> Result<std::shared_ptr<const Tensor>> {
        asked.push_back(std::string(op) + "/" + std::string(argument));
        return argument == "other" ? std::shared_ptr<const Tensor>(*values) : nullptr;
    };
    const Case c = changed(add({2}, {2}), options);
    CHECK(asked == std::vector<std::string>{"add/input", "add/other"});
    CHECK(c.tensors[0].fill.fn == Fill::kRandn);
    CHECK(c.tensors[1].fill.fn == Fill::kCaptured);
    CHECK(c.tensors[1].captured == *values);
    CHECK(reason(nll(), options) ==
          "nll_loss: no values are captured for input: neither /nll_loss/<argument> nor /<argument> is there");
    options.captured = [](std::string_view, std::string_view) -> Result<std::shared_ptr<const Tensor>> {
        return bad_input("unreadable");
    };
    auto unreadable = vary(add({2}, {2}), options);
    REQUIRE_FALSE(unreadable.ok());
    CHECK(unreadable.error().message == "unreadable");
}

TEST_CASE("empty: the first dim that can be 0 is, in every tensor that shares it", "[variant]") {
    const VariantOptions empty = {.empty = true};
    const Case broadcast = changed(add({4, 3}, {3}), empty);
    CHECK(shape_of(broadcast, 0) == Shape{0, 3});
    CHECK(shape_of(broadcast, 1) == Shape{3});
    const Case equal = changed(add({4, 3}, {2, 4, 3}), empty);
    CHECK(shape_of(equal, 0) == Shape{0, 3});
    CHECK(shape_of(equal, 1) == Shape{2, 0, 3});
    const Case loss = changed(nll(), empty);
    CHECK(shape_of(loss, 0) == Shape{0, 3});
    CHECK(shape_of(loss, 1) == Shape{0});
    CHECK(shape_of(loss, 2) == Shape{3});
    CHECK(shape_of(changed(add({}, {5}), empty), 1) == Shape{0});
}

TEST_CASE("empty: tensors whose size is the same by chance keep it", "[variant]") {
    Case c = nll();
    c.tensors[2].specs.front().shape = {4};
    c.tensors[0].specs.front().shape = {4, 4};
    const Case changed_case = changed(c, {.empty = true});
    CHECK(shape_of(changed_case, 0) == Shape{0, 4});
    CHECK(shape_of(changed_case, 1) == Shape{0});
    CHECK(shape_of(changed_case, 2) == Shape{4});
}

TEST_CASE("empty: classes that targets point to are kept", "[variant]") {
    CaseTensor one = case_tensor("target", {}, Dtype::int64);
    const Case loss = make_case("nll_loss", {case_tensor("input", {3}), one});
    CHECK(reason(loss, {.empty = true}) == "nll_loss: its shapes do not allow a dim of size 0");
}

TEST_CASE("empty: lists, given values and explicit strides follow", "[variant]") {
    CaseTensor list = case_tensor("tensors", {2, 3});
    list.is_list = true;
    list.specs.push_back({{4, 3}, Dtype::float32, {}});
    const Case cat = changed(make_case("cat", {list}, {{"dim", {int64_t{0}}}}), {.empty = true});
    CHECK(shape_of(cat, 0) == Shape{0, 3});
    Case c = add({2, 2}, {2, 2});
    c.tensors[0].fill.fn = Fill::kValue;
    c.tensors[0].values = {1, 2, 3, 4};
    c.tensors[1].specs.front().strides = {1, 2};
    const Case out = changed(c, {.empty = true});
    CHECK(out.tensors[0].values.empty());
    CHECK(out.tensors[1].specs.front().strides.empty());
    CHECK(out.varied);
}

TEST_CASE("empty: a case that is already empty stays, others are skipped with the reason", "[variant]") {
    const Case already = changed(add({0, 3}, {3}), {.empty = true});
    CHECK_FALSE(already.varied);
    CHECK(reason(add({}, {}), {.empty = true}) == "add: no tensor has a dim that could be 0");
    const Case batch_norm = make_case("batch_norm", {case_tensor("input", {4, 3}), case_tensor("running_mean", {3}),
                                                     case_tensor("running_var", {3})});
    CHECK(reason(batch_norm, {.empty = true}) == "batch_norm: the schema names no empty form");
    const Case argmax = make_case("argmax", {case_tensor("input", {4})});
    CHECK(reason(argmax, {.empty = true}) == "argmax: its shapes do not allow a dim of size 0");
}

TEST_CASE("zero-dim: every tensor is 0-dim, and named dims are valid", "[variant]") {
    const VariantOptions zero_dim = {.zero_dim = true};
    Case c = add({2, 3}, {3});
    c.tensors[0].fill.fn = Fill::kValue;
    c.tensors[0].values = {7, 2, 3, 4, 5, 6};
    const Case out = changed(c, zero_dim);
    CHECK(shape_of(out, 0).empty());
    CHECK(shape_of(out, 1).empty());
    CHECK(out.tensors[0].values == std::vector<double>{7});
    const auto dim_of = [&](const char* op, Param dim) {
        return *changed(make_case(op, {case_tensor("input", {2, 3, 4})}, {{"dim", std::move(dim)}}), zero_dim)
                    .param("dim");
    };
    CHECK(dim_of("softmax", {int64_t{2}}) == Param{int64_t{0}});
    CHECK(dim_of("softmax", {int64_t{-1}}) == Param{int64_t{-1}});
    CHECK(dim_of("sum", {std::vector<Param>{{int64_t{0}}, {int64_t{2}}}}) == Param{std::vector<Param>{}});
    CHECK(reason(make_case("linear", {case_tensor("input", {2, 3}), case_tensor("weight", {4, 3})}), zero_dim) ==
          "linear: the schema names no 0-dim form");
}

TEST_CASE("four bytes: marked arguments and outputs are narrowed", "[variant]") {
    const VariantOptions four_bytes = {.four_bytes = true};
    const Case loss = changed(nll(), four_bytes);
    CHECK(dtype_of(loss, 1) == Dtype::int32);
    CHECK(dtype_of(loss, 0) == Dtype::float32);
    CHECK(loss.varied);
    const Case argmax =
        changed(make_case("argmax", {case_tensor("input", {4, 3})}, {{"dim", {int64_t{0}}}}), four_bytes);
    auto call = bind_call(*find_row("diopiArgmax"), argmax, shape_tensors(argmax));
    REQUIRE(call.ok());
    auto outputs = infer(*call, hints_of(argmax));
    REQUIRE(outputs.ok());
    CHECK(outputs->front().spec.dtype == Dtype::int32);
    Case probabilities = make_case(
        "cross_entropy", {case_tensor("input", {4, 3}, Dtype::float64), case_tensor("target", {4, 3}, Dtype::float64)});
    CHECK(dtype_of(changed(probabilities, four_bytes), 1) == Dtype::float32);
}

TEST_CASE("four bytes: cases without such an index are skipped", "[variant]") {
    CHECK(reason(add({2}, {2}), {.four_bytes = true}) == "add: the schema names no index that may come in 4 bytes");
    CHECK(reason(nll(Dtype::int32), {.four_bytes = true}) == "nll_loss: no index of this case has 8 bytes");
}

TEST_CASE("layouts are noted in the case, and skipped if they change nothing", "[variant]") {
    const Case c = changed(add({2, 3}, {3}), {.layout = {.strided = true}});
    CHECK(c.layout.strided);
    CHECK_FALSE(c.varied);
    CHECK(c.fingerprint() != add({2, 3}, {3}).fingerprint());
    CHECK(reason(add({2}, {2}), {.layout = {.nhwc = true}}) == "add: the schema names no channels-last argument");
    CHECK(reason(add({1}, {}), {.layout = {.wide = true}}) == "add: no tensor has a dim of size 2 or more");
    CHECK(reason(add({0}, {0}), {.layout = {.strided = true}}) == "add: no tensor has elements to lay out");
    const Case pool = make_case("max_pool2d", {case_tensor("input", {2, 4, 4})}, {{"kernel_size", {int64_t{2}}}});
    CHECK(reason(pool, {.layout = {.nhwc = true}}).empty());
    CHECK(reason(pool, {.layout = {.nhwc = true, .nhwc_min_dim = 4}}) ==
          "max_pool2d: no argument with channels changes its layout with 4 dims or more");
}

TEST_CASE("options are combined", "[variant]") {
    const Case c = changed(nll(), {.fill = Fill::kExact, .empty = true, .four_bytes = true, .layout = {}});
    CHECK(c.tensors[0].fill.fn == Fill::kExact);
    CHECK(shape_of(c, 0) == Shape{0, 3});
    CHECK(dtype_of(c, 1) == Dtype::int32);
}

TEST_CASE("a case of an unknown operator stays for the run", "[variant]") {
    CHECK(reason(make_case("no_such_operator", {case_tensor("input", {2})}), {.empty = true}).empty());
}
