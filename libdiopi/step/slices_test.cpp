#include "step/slices.hpp"

#include <catch2/catch.hpp>
#include <cstring>

#include "intercept/call_copy.hpp"
#include "step/oracle.hpp"

namespace diopi {

namespace {

constexpr int64_t kElements = 150'000;  // three slices

TensorPtr ramp(const Shape& shape, Dtype dtype) {
    auto wide = make_tensor(cpu_device(), {shape, Dtype::int64, {}});
    REQUIRE(wide.ok());
    for (int64_t i = 0; i < (*wide)->numel(); ++i) (*wide)->data_as<int64_t>()[i] = i % 1001 - 500;
    auto made = cast(**wide, dtype);
    REQUIRE(made.ok());
    return *made;
}

/// The results in slices and at once must have the same bits.
void check_slices(const Call& call, const std::vector<OutputSpec>& outputs) {
    const auto sliced = SlicedCall::create(call, outputs, kElements / 2);
    REQUIRE(sliced);
    CHECK(sliced->slices() == 3);
    const auto whole = Oracle().run(call, outputs);
    REQUIRE(whole.ok());
    std::vector<ArgTensor> all;
    for (int64_t slice = 0; slice < sliced->slices(); ++slice) {
        const auto part = Oracle().run(sliced->call(slice), sliced->outputs(slice));
        REQUIRE(part.ok());
        REQUIRE(sliced->store(slice, *part, all).ok());
    }
    REQUIRE(all.size() == whole->size());
    for (size_t i = 0; i < all.size(); ++i) {
        CHECK(all[i].place() == (*whole)[i].place());
        const Tensor &came = *all[i].tensor, &wanted = *(*whole)[i].tensor;
        REQUIRE(came.shape == wanted.shape);
        REQUIRE(came.dtype == wanted.dtype);
        CHECK(std::memcmp(came.data(), wanted.data(), wanted.nbytes()) == 0);
    }
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

TEST_CASE("only element-wise calls on dense tensors of one shape have slices") {
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
    Call softmax(*find_row("diopiSoftmax"));
    softmax["input"] = ramp(shape, Dtype::float32);
    softmax["dim"] = int64_t{1};
    CHECK_FALSE(has_slices(softmax, shape));
}

}  // namespace diopi
