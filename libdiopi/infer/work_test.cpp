#include "infer/work.hpp"

#include <catch2/catch.hpp>

using namespace diopi;

namespace {

TensorPtr meta_of(const Shape& shape, Dtype dtype = Dtype::float32) {
    auto tensor = std::make_shared<Tensor>();
    tensor->shape = shape;
    tensor->strides = contiguous_strides(shape);
    tensor->dtype = dtype;
    return tensor;
}

Call add(const TensorPtr& a, const TensorPtr& b, const Shape& out) {
    Call call(*find_row("diopiAdd"));
    call["input"] = a;
    call["other"] = b;
    call["out"] = meta_of(out, a->dtype);
    return call;
}

Call convolution_backward() {
    Call call(*find_row("diopiConvolution2dBackward"));
    call["input"] = meta_of({16, 256, 14, 14});
    call["weight"] = meta_of({256, 256, 3, 3});
    call["grad_output"] = meta_of({16, 256, 14, 14});
    return call;
}

}  // namespace

TEST_CASE("an element-wise call moves its tensors and counts no operations") {
    const CallWork work = work_of(add(meta_of({1024, 1024}), meta_of({1024, 1024}), {1024, 1024}));
    CHECK(work.flops == 0);
    CHECK(work.bytes == 3 * 4.0 * 1024 * 1024);
    const CallWork half = work_of(add(meta_of({10}, Dtype::float16), meta_of({10}, Dtype::float16), {10}));
    CHECK(half.bytes == 60);
    CHECK(work_of(add(meta_of({0, 4}), meta_of({0, 4}), {0, 4})).bytes == 0);
}

TEST_CASE("broadcast elements are read once, like a tensor that occurs twice") {
    CHECK(work_of(add(meta_of({8, 100}), meta_of({100}), {8, 100})).bytes == 4 * (800 + 100 + 800));
    const TensorPtr expanded = meta_of({8, 100});
    expanded->strides = {0, 1};
    CHECK(work_of(add(meta_of({8, 100}), expanded, {8, 100})).bytes == 4 * (800 + 100 + 800));
    const TensorPtr same = meta_of({8});
    float values[8] = {};
    same->storage = {std::shared_ptr<void>(values, [](void*) {}), sizeof values, diopi_host};
    CHECK(work_of(add(same, same, {8})).bytes == 4 * (8 + 8));
}

TEST_CASE("a product takes two operations for each term of each element") {
    Call call(*find_row("diopiMm"));
    call["input"] = meta_of({64, 32});
    call["mat2"] = meta_of({32, 16});
    call["out"] = meta_of({64, 16});
    CHECK(work_of(call).flops == 2.0 * 64 * 32 * 16);
    CHECK(work_of(call).bytes == 4.0 * (64 * 32 + 32 * 16 + 64 * 16));
    Call in_place(*find_row("diopiBaddbmmInp"));
    in_place["input"] = meta_of({2, 8, 4});
    in_place["batch1"] = meta_of({2, 8, 3});
    in_place["batch2"] = meta_of({2, 3, 4});
    CHECK(work_of(in_place).flops == 2.0 * 64 * 3 + 2 * 64);
    CHECK(work_of(in_place).bytes == 4.0 * (2 * 64 + 48 + 24));
}

TEST_CASE("a convolution's operations, forward and for the gradients that are wanted") {
    Call call(*find_row("diopiConvolution2d"));
    call["input"] = meta_of({16, 256, 14, 14});
    call["weight"] = meta_of({1024, 64, 1, 1});
    call["out"] = meta_of({16, 1024, 14, 14});
    const double out = 16.0 * 1024 * 14 * 14;
    CHECK(work_of(call).flops == 2 * out * 64);
    call["bias"] = meta_of({1024});
    CHECK(work_of(call).flops == 2 * out * 64 + out);

    Call backward = convolution_backward();
    const double one = 2 * (16.0 * 256 * 14 * 14) * 256 * 9, image = 4.0 * 16 * 256 * 14 * 14;
    CHECK(work_of(backward).flops == 0);
    backward["grad_weight"] = meta_of({256, 256, 3, 3});
    CHECK(work_of(backward).flops == one);
    // The weight is not read for its own gradient.
    CHECK(work_of(backward).bytes == 2 * image + 4.0 * 256 * 256 * 9);
    backward["grad_input"] = meta_of({16, 256, 14, 14});
    CHECK(work_of(backward).flops == 2 * one);
}

TEST_CASE("a linear layer's operations are those of its product") {
    Call call(*find_row("diopiLinear"));
    call["input"] = meta_of({32, 10, 2048});
    call["weight"] = meta_of({1000, 2048});
    call["out"] = meta_of({32, 10, 1000});
    CHECK(work_of(call).flops == 2.0 * 320 * 2048 * 1000);
}

TEST_CASE("pools count their windows, reductions and norms their elements") {
    Call pool(*find_row("diopiMaxPool2d"));
    pool["input"] = meta_of({2, 3, 8, 8});
    pool["out"] = meta_of({2, 3, 4, 4});
    pool["kernel_size"] = IntList{3, 2};
    CHECK(work_of(pool).flops == 96 * 6);
    Call cubes(*find_row("diopiAvgPool3d"));
    cubes["input"] = meta_of({3, 4, 4, 4});
    cubes["out"] = meta_of({3, 2, 2, 2});
    cubes["kernel_size"] = IntList{2};
    CHECK(work_of(cubes).flops == 24 * 8);
    Call sum(*find_row("diopiSum"));
    sum["input"] = meta_of({30, 40});
    sum["out"] = meta_of({30});
    CHECK(work_of(sum).flops == 1200);
    Call softmax(*find_row("diopiSoftmax"));
    softmax["input"] = meta_of({30, 40});
    softmax["out"] = meta_of({30, 40});
    CHECK(work_of(softmax).flops == 6000);
}

TEST_CASE("a tensor that is only written is not read, and a lookup reads one element each") {
    Call fill(*find_row("diopiFill"));
    fill["input"] = meta_of({100});
    CHECK(work_of(fill).bytes == 400);
    Call loss(*find_row("diopiNLLLoss"));
    loss["input"] = meta_of({64, 1000});
    loss["target"] = meta_of({64}, Dtype::int64);
    loss["out"] = meta_of({});
    CHECK(work_of(loss).bytes == 64 * 4 + 64 * 8 + 4);
    Call step(*find_row("diopiSgd"));
    step["param"] = meta_of({100});
    step["grad"] = meta_of({100});
    CHECK(work_of(step).bytes == 400 * 3);
}

TEST_CASE("a lookup of rows reads only those, a triangle only the elements that stay") {
    Call rows(*find_row("diopiEmbedding"));
    rows["weight"] = meta_of({1000, 16});
    rows["indices"] = meta_of({3}, Dtype::int64);
    rows["out"] = meta_of({3, 16});
    CHECK(work_of(rows).bytes == 2 * 3 * 16 * 4 + 3 * 8);
    CHECK(work_of(rows).flops == 0);
    Call cache(*find_row("diopiDestIndexCopyKV"));
    cache["out"] = meta_of({1000, 2, 16});
    cache["k"] = meta_of({3, 2, 16});
    cache["dest_loc"] = meta_of({3}, Dtype::int32);
    CHECK(work_of(cache).bytes == 2 * 3 * 2 * 16 * 4 + 3 * 4);
    Call penalty(*find_row("diopiApplyPenalty"));
    penalty["logits"] = meta_of({2, 50000});
    penalty["p_token_ids"] = meta_of({7}, Dtype::int32);
    CHECK(work_of(penalty).bytes == 2 * 7 * 4 + 7 * 4);
    Call triangle(*find_row("diopiTriu"));
    triangle["input"] = meta_of({2, 3, 4});
    triangle["out"] = meta_of({2, 3, 4});
    triangle["diagonal"] = int64_t{0};
    CHECK(work_of(triangle).bytes == 4 * (2 * (4 + 3 + 2) + 24));
    triangle["diagonal"] = INT64_MAX;
    CHECK(work_of(triangle).bytes == 4 * 24);
    triangle["diagonal"] = INT64_MIN;
    CHECK(work_of(triangle).bytes == 4 * 48);
    Call lower(*find_row("diopiTril"));
    lower.args = {triangle["out"], triangle["input"], int64_t{1}};
    CHECK(work_of(lower).bytes == 4 * (2 * (2 + 3 + 4) + 24));
    Call draw(*find_row("diopiBernoulliScalar"));
    draw["out"] = meta_of({100});
    CHECK(work_of(draw).bytes == 400);
}

TEST_CASE("a function without a formula has none") {
    const Row& row = *find_row("diopiConvexIouMmcv");
    CHECK(row.work.formula == WorkFormula::unknown);
    CHECK(work_of(Call(row)).bytes == 0);
}
