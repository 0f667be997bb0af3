#include "infer/infer.hpp"

#include <catch2/catch.hpp>

using namespace diopi;

namespace {

constexpr int64_t kHuge = int64_t{1} << 62;

TensorPtr meta(const Shape& shape) {
    auto tensor = std::make_shared<Tensor>();
    tensor->shape = shape;
    tensor->strides = contiguous_strides(shape);
    tensor->dtype = Dtype::float32;
    return tensor;
}

Call call_of(const char* function) { return Call(*find_row(function)); }

std::string refusal(Call call) {
    const auto specs = infer(call, {});
    REQUIRE_FALSE(specs.ok());
    CHECK(specs.error().code == Errc::kBadInput);
    return specs.error().message;
}

Call convolution(int64_t stride, int64_t padding, int64_t dilation, int64_t groups = 1) {
    Call call = call_of("diopiConvolution2d");
    call["input"] = meta({1, 2, 8, 8});
    call["weight"] = meta({4, 2, 3, 3});
    call["stride"] = IntList{stride};
    call["padding"] = IntList{padding};
    call["dilation"] = IntList{dilation};
    call["groups"] = groups;
    return call;
}

}  // namespace

TEST_CASE("a convolution has as many positions as its kernel fits in") {
    Call call = convolution(2, 1, 2);
    const auto specs = infer(call, {});
    REQUIRE(specs.ok());
    CHECK(specs->front().spec.shape == Shape{1, 4, 3, 3});
    CHECK_THAT(refusal(convolution(1, 0, 4)), Catch::Contains("does not fit into input (1, 2, 8, 8)"));
}

TEST_CASE("parameters beyond any tensor are refused, not wrapped around") {
    const char* const message = "does not fit into input";
    CHECK_THAT(refusal(convolution(1, 0, kHuge)), Catch::Contains(message));
    CHECK_THAT(refusal(convolution(1, kHuge, 1)), Catch::Contains(message));
    CHECK_THAT(refusal(convolution(1, kFromInput, 1)), Catch::Contains(message));
    CHECK_THAT(refusal(convolution(0, 0, 1)), Catch::Contains(message));
    CHECK_THAT(refusal(convolution(1, 0, 1, kHuge)), Catch::Contains("channels"));
}

TEST_CASE("an output that no memory can hold is refused") {
    Call add = call_of("diopiAdd");
    add["input"] = meta({int64_t{1} << 40, 1});
    add["other"] = meta({int64_t{1} << 40});
    CHECK_THAT(refusal(add), Catch::Contains("has more elements than any memory"));
    Call pool = call_of("diopiAdaptiveAvgPool2d");
    pool["input"] = meta({1, 1, 8, 8});
    pool["output_size"] = IntList{kHuge};
    CHECK_THAT(refusal(pool), Catch::Contains("has more elements than any memory"));
}

TEST_CASE("an absent element cannot be concatenated") {
    Call call = call_of("diopiCat");
    call["tensors"] = TensorList{nullptr, meta({2})};
    call["dim"] = int64_t{0};
    CHECK_THAT(refusal(call), Catch::Contains("tensors must not have an absent element"));
}
