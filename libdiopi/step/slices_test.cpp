#include "step/slices.hpp"

#include <catch2/catch.hpp>
#include <cstring>

#include "intercept/call_copy.hpp"
#include "step/oracle.hpp"

namespace diopi {

namespace {

constexpr int64_t kElements = 150'000;

TensorPtr ramp(const Shape& shape, Dtype dtype) {
    auto wide = make_tensor(cpu_device(), {shape, Dtype::int64, {}});
    REQUIRE(wide.ok());
    for (int64_t i = 0; i < (*wide)->numel(); ++i) (*wide)->data_as<int64_t>()[i] = i % 1001 - 500;
    auto made = cast(**wide, dtype);
    REQUIRE(made.ok());
    return *made;
}

void check_same_results(const std::vector<ArgTensor>& came, const std::vector<ArgTensor>& wanted) {
    REQUIRE(came.size() == wanted.size());
    for (size_t i = 0; i < came.size(); ++i) {
        CHECK(came[i].place() == wanted[i].place());
        REQUIRE(came[i].tensor->shape == wanted[i].tensor->shape);
        REQUIRE(came[i].tensor->dtype == wanted[i].tensor->dtype);
        CHECK(std::memcmp(came[i].tensor->data(), wanted[i].tensor->data(), wanted[i].tensor->nbytes()) == 0);
    }
}

/// The results in slices and at once must have the same bits.
void check_slices(const Call& call, const std::vector<OutputSpec>& outputs, int64_t slices = 3) {
    const auto sliced = SlicedCall::create(call, outputs, kElements / 2);
    REQUIRE(sliced);
    CHECK(sliced->slices() == slices);
    const auto whole = Oracle().run(call, outputs);
    REQUIRE(whole.ok());
    std::vector<ArgTensor> all;
    for (int64_t slice = 0; slice < sliced->slices(); ++slice) {
        const auto part = Oracle().run(sliced->call(slice), sliced->outputs(slice));
        REQUIRE(part.ok());
        for (const ArgTensor& result : *part) {
            CHECK(sliced->part(slice, *(*whole)[0].tensor).shape == result.tensor->shape);
        }
        REQUIRE(sliced->store(slice, *part, all).ok());
    }
    check_same_results(all, *whole);
}

/// So must their error bounds.
void check_bounds(const Call& call, const std::vector<OutputSpec>& outputs) {
    const auto sliced = SlicedCall::create(call, outputs, kElements / 2);
    REQUIRE(sliced);
    Oracle oracle;
    const auto whole = oracle.error_bounds(call, outputs, outputs.front().place(), Dtype::float32);
    REQUIRE(whole.ok());
    std::vector<ArgTensor> all;
    for (int64_t slice = 0; slice < sliced->slices(); ++slice) {
        const auto part = oracle.error_bounds(*sliced, slice, outputs.front().place(), Dtype::float32);
        REQUIRE(part.ok());
        REQUIRE(sliced->store(slice, {{outputs.front().arg, *part}}, all).ok());
    }
    check_same_results(all, {{outputs.front().arg, *whole}});
}

}  // namespace

TEST_CASE("an element-wise call in slices has the results of the whole call") {
    const Shape shape = {3, kElements / 3};
    Call add(*find_row("diopiAdd"));
    add["input"] = ramp(shape, Dtype::float32);
    add["other"] = ramp({1, 1}, Dtype::int64);
    add["alpha"] = Scalar::of(0.1);
    check_slices(add, {{0, {shape, Dtype::float32, {}}}});
    add["other"] = ramp(shape, Dtype::int32);
    check_slices(add, {{0, {shape, Dtype::float32, {}}}});
    Call in_place(*find_row("diopiMulInp"));
    in_place["input"] = ramp(shape, Dtype::int8);
    in_place["other"] = ramp(shape, Dtype::int8);
    check_slices(in_place, {});
    Call gradient(*find_row("diopiGeluBackward"));
    gradient["grad_output"] = ramp(shape, Dtype::bfloat16);
    gradient["input"] = ramp(shape, Dtype::bfloat16);
    gradient["approximate"] = std::string("tanh");
    check_slices(gradient, {{0, {shape, Dtype::bfloat16, {}}}});
}

TEST_CASE("a call along a dim in slices has the results and error bounds of the whole call") {
    struct Sizes {
        Shape shape;
        int64_t dim, slices;
    };
    // Whole rows, some at a time or one, and ranges of neighbouring columns (the last one of a
    // column alone), also of rows that are longer than a slice.
    for (const auto& [shape, dim, slices] :
         {Sizes{{7, 50, 431}, 1, 3}, Sizes{{7, 50, 431}, -3, 3}, Sizes{{7, 50, 431}, 2, 3}, Sizes{{2, 70'000}, -1, 2},
          Sizes{{70'000, 129}, 0, 3}, Sizes{{2, 70, 1000}, 1, 4}}) {
        CAPTURE(shape, dim);
        for (const char* function : {"diopiSoftmax", "diopiLogSoftmax"}) {
            Call forward(*find_row(function));
            forward["input"] = ramp(shape, Dtype::float32);
            forward["dim"] = dim;
            const std::vector<OutputSpec> outputs = {{0, {shape, Dtype::float32, {}}}};
            check_slices(forward, outputs, slices);
            check_bounds(forward, outputs);
            Call backward(*find_row(std::string(function) + "Backward"));
            backward["grad_output"] = ramp(shape, Dtype::float16);
            backward["output"] = ramp(shape, Dtype::float16);
            backward["dim"] = dim;
            check_slices(backward, {{0, {shape, Dtype::float16, {}}}}, slices);
        }
    }
}

TEST_CASE("only calls on dense tensors of one shape, element-wise or along a dim that there is, have slices") {
    const Shape shape = {3, 50'000};
    const auto has_slices = [](const Call& call, const Shape& out, int64_t least = 1000) {
        return SlicedCall::create(call, {{0, {out, Dtype::float32, {}}}}, least).has_value();
    };
    Call add(*find_row("diopiAdd"));
    add["input"] = add["other"] = ramp(shape, Dtype::float32);
    add["alpha"] = Scalar::of(1.0);
    CHECK(has_slices(add, shape));
    CHECK_FALSE(has_slices(add, shape, 150'000));
    add["other"] = ramp({50'000}, Dtype::float32);
    CHECK_FALSE(has_slices(add, shape));
    auto transposed = std::make_shared<Tensor>(*ramp({50'000, 3}, Dtype::float32));
    std::swap(transposed->shape[0], transposed->shape[1]);
    std::swap(transposed->strides[0], transposed->strides[1]);
    add["other"] = TensorPtr(transposed);
    CHECK_FALSE(has_slices(add, shape));
    Call sum(*find_row("diopiCumsum"));
    sum["input"] = ramp(shape, Dtype::float32);
    sum["dim"] = int64_t{1};
    CHECK_FALSE(has_slices(sum, shape));
    Call softmax(*find_row("diopiSoftmax"));
    softmax["input"] = ramp(shape, Dtype::float32);
    for (const int64_t dim : {-3, -2, 1, 2}) {
        softmax["dim"] = dim;
        CHECK(has_slices(softmax, shape) == (dim == -2 || dim == 1));
    }
}

}  // namespace diopi
