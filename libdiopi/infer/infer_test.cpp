#include "infer/testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

constexpr int64_t kHuge = int64_t{1} << 62;

Call call_of(const char* function) { return Call(*find_row(function)); }

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

TEST_CASE("parameters too large for any tensor are refused and do not wrap") {
    const char* const message = "does not fit into input";
    CHECK_THAT(refusal(convolution(1, 0, kHuge)), Catch::Contains(message));
    CHECK_THAT(refusal(convolution(1, kHuge, 1)), Catch::Contains(message));
    CHECK_THAT(refusal(convolution(1, kFromInput, 1)), Catch::Contains(message));
    CHECK_THAT(refusal(convolution(0, 0, 1)), Catch::Contains(message));
    CHECK_THAT(refusal(convolution(1, 0, 1, kHuge)), Catch::Contains("channels"));
}

TEST_CASE("a transposed convolution has the sizes of PyTorch's, and refuses those without elements") {
    const auto spread = [](int64_t stride, int64_t padding, int64_t output_padding, int64_t dilation, int64_t groups) {
        Call call = call_of("diopiConvTranspose2d");
        call["input"] = meta({1, 4, 5, 8});
        call["weight"] = meta({4, 3, 3, 2});
        call["stride"] = IntList{stride};
        call["padding"] = IntList{padding};
        call["output_padding"] = IntList{output_padding};
        call["dilation"] = IntList{dilation};
        call["groups"] = groups;
        return call;
    };
    Call call = spread(3, 1, 2, 2, 2);
    const auto specs = infer(call, {});
    REQUIRE(specs.ok());
    CHECK(specs->front().spec.shape == Shape{1, 6, 17, 24});
    CHECK_THAT(refusal(spread(2, 0, 2, 1, 1)), Catch::Contains("output_padding below stride or dilation"));
    CHECK_THAT(refusal(spread(1, 5, 0, 1, 1)), Catch::Contains("has no element at spatial dim 0"));
    CHECK_THAT(refusal(spread(kHuge, 0, 0, 1, 1)), Catch::Contains("has no element at spatial dim 0"));
    CHECK_THAT(refusal(spread(1, 0, 0, 1, 3)), Catch::Contains("a multiple of groups 3"));
    CHECK_THAT(refusal(spread(1, 0, 0, 1, kHuge)), Catch::Contains("a multiple of groups"));
}

TEST_CASE("images and their columns have each other's sizes") {
    Call columns = call_of("diopiIm2Col"), images = call_of("diopiCol2Im");
    columns["input"] = meta({2, 3, 7, 6});
    images["output_size"] = IntList{7, 6};
    for (Call* call : {&columns, &images}) {
        (*call)["kernel_size"] = IntList{2, 3};
        (*call)["stride"] = IntList{2};
        (*call)["padding"] = IntList{1, 0};
        (*call)["dilation"] = IntList{1};
    }
    images["input"] = meta({2, 18, 8});
    auto specs = infer(columns, {});
    REQUIRE(specs.ok());
    CHECK(specs->front().spec.shape == Shape{2, 18, 8});
    specs = infer(images, {});
    REQUIRE(specs.ok());
    CHECK(specs->front().spec.shape == Shape{2, 3, 7, 6});
    images["input"] = meta({2, 18, 9});
    CHECK_THAT(refusal(images), Catch::Contains("must be (N, C, 8)"));
    images["input"] = meta({2, 17, 8});
    CHECK_THAT(refusal(images), Catch::Contains("that the 6 elements of a window divide"));
    columns["kernel_size"] = IntList{10, 3};
    CHECK_THAT(refusal(columns), Catch::Contains("has no window"));
}

TEST_CASE("windows along a dim are a dim, and their elements another") {
    const auto windows = [](const Shape& shape, int64_t dim, int64_t size, int64_t step) {
        Call call = call_of("diopiUnfold");
        call["input"] = meta(shape);
        call["dim"] = dim;
        call["size"] = size;
        call["step"] = step;
        return call;
    };
    const auto shape_of = [](Call call) {
        const auto specs = infer(call, {});
        REQUIRE(specs.ok());
        return specs->front().spec.shape;
    };
    CHECK(shape_of(windows({4, 7, 2}, 1, 3, 2)) == Shape{4, 3, 2, 3});
    CHECK(shape_of(windows({5}, -1, 0, 2)) == Shape{3, 0});
    CHECK(shape_of(windows({}, 0, 1, 2)) == Shape{1});
    CHECK_THAT(refusal(windows({4}, 0, 5, 1)), Catch::Contains("size 5 must be 0 to 4"));
    CHECK_THAT(refusal(windows({4}, 0, 2, 0)), Catch::Contains("step 0 positive"));
}

TEST_CASE("an output larger than any memory is refused") {
    Call add = call_of("diopiAdd");
    add["input"] = meta({int64_t{1} << 40, 1});
    add["other"] = meta({int64_t{1} << 40});
    CHECK_THAT(refusal(add), Catch::Contains("has more elements than any memory"));
    Call pool = call_of("diopiAdaptiveAvgPool2d");
    pool["input"] = meta({1, 1, 8, 8});
    pool["output_size"] = IntList{kHuge};
    CHECK_THAT(refusal(pool), Catch::Contains("has more elements than any memory"));
}

TEST_CASE("a pool with a mode follows the rules of that mode") {
    const auto pool = [](const char* mode, bool adaptive) {
        Call call = call_of("diopiPool2d");
        call["input"] = meta({1, 8, 8});
        call["mode"] = std::string(mode);
        call["adaptive"] = adaptive;
        call["ksize"] = IntList{3};
        call["stride"] = IntList{};
        call["padding"] = IntList{1};
        call["dilation"] = IntList{adaptive ? 0 : 2};
        call["output_size"] = IntList{5};
        call["ceil_mode"] = false;
        return call;
    };
    Call max = pool("max", false), mean = pool("avg", false), parts = pool("avg", true), sum = pool("sum", false);
    // Means have no dilation; each is a sum of nine terms, and a maximum is a copy.
    const auto dilated = infer(max, {}), dense = infer(mean, {}), adaptive = infer(parts, {});
    REQUIRE((dilated.ok() && dense.ok() && adaptive.ok()));
    CHECK(dilated->front().spec.shape == Shape{1, 2, 2});
    CHECK(dense->front().spec.shape == Shape{1, 3, 3});
    CHECK(adaptive->front().spec.shape == Shape{1, 5, 5});
    CHECK(accumulation_length(mean, dense->front()) == 9);
    CHECK(copies_only(max));
    CHECK_FALSE(copies_only(mean));
    CHECK_THAT(refusal(sum), Catch::Contains("mode is 'sum', wanted max or avg"));
}

TEST_CASE("an absent element cannot be concatenated") {
    Call call = call_of("diopiCat");
    call["tensors"] = TensorList{nullptr, meta({2})};
    call["dim"] = int64_t{0};
    CHECK_THAT(refusal(call), Catch::Contains("tensors must not have an absent element"));
}

TEST_CASE("a product has the rows of its left factor and the columns of its right one") {
    const auto product = [](const Shape& left, const Shape& right) {
        Call call = call_of("diopiMatmul");
        call["input"] = meta(left);
        call["other"] = meta(right);
        return call;
    };
    const auto shape_of = [&](const Shape& left, const Shape& right) {
        Call call = product(left, right);
        const auto specs = infer(call, {});
        REQUIRE(specs.ok());
        return specs->front().spec.shape;
    };
    CHECK(shape_of({3, 4}, {4, 2}) == Shape{3, 2});
    CHECK(shape_of({4}, {4}) == Shape{});
    CHECK(shape_of({4}, {5, 4, 2}) == Shape{5, 2});
    CHECK(shape_of({2, 1, 3, 4}, {5, 4, 2}) == Shape{2, 5, 3, 2});
    CHECK_THAT(refusal(product({3, 4}, {3, 4})), Catch::Contains("(3, 4) and (3, 4) do not fit"));
    CHECK_THAT(refusal(product({}, {3, 4})), Catch::Contains("must have 1 dim or more"));
    Call batches = call_of("diopiBmm");
    batches["input"] = meta({2, 3, 4});
    batches["mat2"] = meta({1, 4, 5});
    CHECK_THAT(refusal(batches), Catch::Contains("do not fit"));
}

TEST_CASE("an addend broadcasts to the product, and in place has its shape") {
    Call call = call_of("diopiBaddbmm");
    call["input"] = meta({5});
    call["batch1"] = meta({2, 3, 4});
    call["batch2"] = meta({2, 4, 5});
    auto specs = infer(call, {});
    REQUIRE(specs.ok());
    CHECK(specs->front().spec.shape == Shape{2, 3, 5});
    CHECK(accumulation_length(call, specs->front()) == 6);
    CHECK(is_product(call, specs->front()));
    Call in_place = call_of("diopiBaddbmmInp");
    in_place.args = {meta({5}), call["batch1"], call["batch2"]};
    in_place.args.resize(in_place.row->num_args);
    CHECK_THAT(refusal(in_place), Catch::Contains("input (5,) must have the product's shape (2, 3, 5)"));
    in_place["input"] = meta({2, 3, 5});
    specs = infer(in_place, {});
    REQUIRE(specs.ok());
    CHECK(specs->empty());
}

TEST_CASE("functions of numbers make integers floating, but not in place") {
    Call call = call_of("diopiExp");
    auto whole = std::make_shared<Tensor>(*meta({2}));
    whole->dtype = Dtype::int32;
    call["input"] = TensorPtr(whole);
    const auto specs = infer(call, {});
    REQUIRE(specs.ok());
    CHECK(specs->front().spec.dtype == Dtype::float32);
    Call in_place = call_of("diopiExpInp");
    in_place["input"] = TensorPtr(whole);
    CHECK_THAT(refusal(in_place), Catch::Contains("cannot be stored in place in int32"));
}

TEST_CASE("three tensors broadcast together, and a condition does not affect the dtype") {
    Call call = call_of("diopiWhere");
    auto condition = std::make_shared<Tensor>(*meta({4, 1}));
    condition->dtype = Dtype::int64;
    call["condition"] = TensorPtr(condition);
    call["input"] = meta({3});
    call["other"] = meta({});
    const auto specs = infer(call, {});
    REQUIRE(specs.ok());
    CHECK(specs->front().spec == TensorSpec{{4, 3}, Dtype::float32, {}});
    call["other"] = meta({2});
    CHECK_THAT(refusal(call), Catch::Contains("do not broadcast"));
}

TEST_CASE("a tensor expands to sizes of which -1 keeps its own") {
    Call call = call_of("diopiExpand");
    call["input"] = meta({3, 1});
    ResultHints hints;
    hints.size = {7, -1, 4};
    const auto specs = infer(call, hints);
    REQUIRE(specs.ok());
    CHECK(specs->front().spec.shape == Shape{7, 3, 4});
    hints.size = {-1, 3, 1};
    CHECK_FALSE(infer(call, hints).ok());
}

TEST_CASE("arange has as many elements as steps to its end, and integers if all numbers are") {
    const auto made = [](Scalar start, Scalar end, Scalar step, std::optional<Dtype> dtype = {}) {
        Call call = call_of("diopiArange");
        call["start"] = start;
        call["end"] = end;
        call["step"] = step;
        ResultHints hints;
        hints.dtype = dtype;
        return infer(call, hints);
    };
    const auto whole = [](int64_t x) { return Scalar::of(x); };
    CHECK(made(whole(0), whole(91), whole(13))->front().spec == TensorSpec{{7}, Dtype::int64, {}});
    CHECK(made(whole(90), whole(-90), Scalar::of(-5.6))->front().spec == TensorSpec{{33}, Dtype::float32, {}});
    CHECK(made(whole(3), whole(3), whole(-1))->front().spec.shape == Shape{0});
    CHECK(made(whole(0), Scalar::of(7.9), Scalar::of(2.5), Dtype::int32)->front().spec ==
          TensorSpec{{4}, Dtype::int32, {}});
    CHECK(made(whole(INT64_MAX - 3), whole(INT64_MAX), whole(2))->front().spec.shape == Shape{2});
    for (const auto& bad : {made(whole(0), whole(3), whole(0)), made(whole(0), whole(3), whole(-1)),
                            made(whole(INT64_MIN), whole(INT64_MAX), whole(1)),
                            made(Scalar::of(0.0), Scalar::of(1e300), Scalar::of(1e-10)),
                            made(Scalar::of(0.0), Scalar::of(NAN), whole(1))}) {
        REQUIRE_FALSE(bad.ok());
        CHECK_THAT(bad.error().message, Catch::Contains("does not lead from start"));
    }
}

TEST_CASE("an embedding gives a row for each index, and the gradient of its table") {
    Call call = call_of("diopiEmbedding");
    call["weight"] = meta({10, 3});
    call["indices"] = meta({2, 4});
    CHECK(infer(call, {})->front().spec == TensorSpec{{2, 4, 3}, Dtype::float32, {}});
    call["weight"] = meta({10});
    CHECK_THAT(refusal(call), Catch::Contains("weight (10,) must be (rows, size)"));
    Call back = call_of("diopiEmbeddingBackward");
    back["grad"] = meta({2, 4, 3});
    back["indices"] = meta({2, 4});
    back["num_weights"] = int64_t{10};
    CHECK(infer(back, {})->front().spec.shape == Shape{10, 3});
}

TEST_CASE("layer norm saves two numbers for each row, which are unspecified without elements") {
    Call call = call_of("diopiLayerNorm");
    auto half = std::make_shared<Tensor>(*meta({2, 3, 4}));
    half->dtype = Dtype::float16;
    call["input"] = TensorPtr(half);
    call["normalized_shape"] = IntList{4};
    auto specs = infer(call, {});
    REQUIRE(specs.ok());
    CHECK(specs->at(0).spec == TensorSpec{{2, 3, 4}, Dtype::float16, {}});
    CHECK(specs->at(1).spec == TensorSpec{{2, 3}, Dtype::float32, {}});
    CHECK(specs->at(2).has_meaning);
    call["weight"] = meta({3});
    CHECK_THAT(refusal(call), Catch::Contains("weight (3,) must have normalized_shape (4,)"));
    call["weight"] = {};
    call["normalized_shape"] = IntList{3};
    CHECK_THAT(refusal(call), Catch::Contains("does not end in normalized_shape"));
    call["input"] = meta({2, 0});
    call["normalized_shape"] = IntList{0};
    specs = infer(call, {});
    REQUIRE(specs.ok());
    CHECK_FALSE(specs->at(1).has_meaning);
}

TEST_CASE("a mask broadcasts and does not affect the dtype") {
    Call call = call_of("diopiMaskedFillScalar");
    auto mask = std::make_shared<Tensor>(*meta({3, 1, 4}));
    mask->dtype = Dtype::boolean;
    auto whole = std::make_shared<Tensor>(*meta({2, 4}));
    whole->dtype = Dtype::int8;
    call["input"] = TensorPtr(whole);
    call["mask"] = TensorPtr(mask);
    call["value"] = Scalar::of(0.5);
    CHECK(infer(call, {})->front().spec == TensorSpec{{3, 2, 4}, Dtype::int8, {}});
    Call in_place = call_of("diopiMaskedFillInpScalar");
    in_place.args = {call["input"], call["mask"], call["value"]};
    CHECK_THAT(refusal(in_place), Catch::Contains("does not fit into input (2, 4) in place"));
}

TEST_CASE("a comparison gives truth values, in place numbers of the input's dtype") {
    Call call = call_of("diopiEq");
    call["input"] = meta({2, 1});
    call["other"] = meta({3});
    const auto specs = infer(call, {});
    REQUIRE(specs.ok());
    CHECK(specs->front().spec.shape == Shape{2, 3});
    CHECK(specs->front().spec.dtype == Dtype::boolean);
    Call in_place = call_of("diopiEqInp");
    in_place["input"] = in_place["other"] = meta({3});
    CHECK(infer(in_place, {})->empty());
    in_place["other"] = meta({2, 3});
    CHECK_THAT(refusal(in_place), Catch::Contains("does not fit into input (3,) in place"));
}

TEST_CASE("two floats make a complex number, whose parts are floats") {
    Call join = call_of("diopiComplex");
    join["real"] = meta({2});
    join["imag"] = meta({1});
    const auto complex = infer(join, {});
    REQUIRE(complex.ok());
    CHECK(complex->front().spec.dtype == Dtype::complex64);
    auto wide = std::make_shared<Tensor>(*meta({2}));
    wide->dtype = Dtype::float64;
    join["imag"] = TensorPtr(wide);
    CHECK_THAT(refusal(join), Catch::Contains("imag is float64, wanted float32 as the others"));
    Call part = call_of("diopiReal");
    auto z = std::make_shared<Tensor>(*meta({2}));
    z->dtype = Dtype::complex128;
    part["input"] = TensorPtr(z);
    CHECK(infer(part, {})->front().spec.dtype == Dtype::float64);
}

TEST_CASE("clamp needs a bound, and each number counts") {
    Call call = call_of("diopiClampScalar");
    auto whole = std::make_shared<Tensor>(*meta({2}));
    whole->dtype = Dtype::int16;
    call["input"] = TensorPtr(whole);
    CHECK_THAT(refusal(call), Catch::Contains("all operands that may be absent are absent"));
    call["min"] = Scalar::of(1.5);
    call["max"] = Scalar::of(int64_t{2});
    CHECK(infer(call, {})->front().spec.dtype == Dtype::float32);
}
