#include "step/oracle.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "cases/draw.hpp"
#include "cases/testing.hpp"
#include "core/convert.hpp"

namespace diopi {

namespace {

TensorPtr rounded_tensor(const std::vector<double>& values, Dtype dtype) {
    const Shape shape = {static_cast<int64_t>(values.size())};
    auto wide = make_tensor(cpu_device(), {shape, Dtype::float64, {}});
    REQUIRE(wide.ok());
    std::copy(values.begin(), values.end(), (*wide)->data_as<double>());
    auto out = make_tensor(cpu_device(), {shape, dtype, {}});
    REQUIRE(out.ok());
    narrow(**wide, **out);
    return *out;
}

/// out = input - alpha * other on float32 tensors.
struct Difference {
    Call call{*find_row("diopiSub")};
    std::vector<OutputSpec> outputs;

    explicit Difference(double alpha) {
        call["input"] = rounded_tensor({1, -2, 3}, Dtype::float32);
        call["other"] = rounded_tensor({-4, 5, 6}, Dtype::float32);
        call["alpha"] = Scalar::of(alpha);
        outputs = {{0, {{3}, Dtype::float32, {}}}};
    }
};

std::vector<double> values_of(const Result<std::vector<ArgTensor>>& result) {
    REQUIRE(result.ok());
    REQUIRE(result->size() == 1);
    const Tensor& tensor = *result->front().tensor;
    REQUIRE(tensor.dtype == Dtype::float64);
    return {tensor.data_as<double>(), tensor.data_as<double>() + tensor.numel()};
}

}  // namespace

TEST_CASE("the oracle computes in float64 and does not change the inputs") {
    Difference difference(2);
    CHECK(values_of(Oracle().run(difference.call, difference.outputs)) == std::vector<double>{9, -12, -9});
    CHECK(difference.call.tensor("input")->data_as<float>()[1] == -2.0f);
}

TEST_CASE("the oracle converts operands to their common dtype where the function's results jump") {
    Call equal(*find_row("diopiEq"));
    equal["input"] = rounded_tensor({2048, 2050}, Dtype::float16);
    equal["other"] = rounded_tensor({2049, 2049}, Dtype::int64);
    const auto result = Oracle().run(equal, {{0, {{2}, Dtype::boolean, {}}}});
    REQUIRE(result.ok());
    CHECK(result->front().tensor->data_as<bool>()[0]);
    CHECK_FALSE(result->front().tensor->data_as<bool>()[1]);

    Call in_place(*find_row("diopiGeInp"));
    in_place["input"] = rounded_tensor({1, 2}, Dtype::int8);
    in_place["other"] = rounded_tensor({1.5, 1.5}, Dtype::float32);
    const auto changed = Oracle().run(in_place, {});
    REQUIRE(changed.ok());
    REQUIRE(changed->front().tensor->dtype == Dtype::int64);
    CHECK(changed->front().tensor->data_as<int64_t>()[0] == 0);
    CHECK(changed->front().tensor->data_as<int64_t>()[1] == 1);
}

TEST_CASE("the oracle's integers wrap in the dtype of the operands, with any dtype of the output") {
    Call product(*find_row("diopiMul"));
    product["input"] = product["other"] = rounded_tensor({255, 16, 3}, Dtype::uint8);
    const auto dtype = GENERATE(Dtype::uint8, Dtype::int32, Dtype::float32);
    const auto result = Oracle().run(product, {{0, {{3}, dtype, {}}}});
    REQUIRE(result.ok());
    const Tensor& tensor = *result->front().tensor;
    CHECK(tensor.dtype == wide_dtype(dtype));
    auto narrow_result = make_tensor(cpu_device(), {{3}, dtype, {}});
    REQUIRE(narrow_result.ok());
    narrow(tensor, **narrow_result);
    auto numbers = make_tensor(cpu_device(), {{3}, Dtype::float64, {}});
    REQUIRE(numbers.ok());
    widen(**narrow_result, **numbers);
    const auto* x = (*numbers)->data_as<double>();
    CHECK(std::vector<double>(x, x + 3) == std::vector<double>{1, 0, 9});
}

TEST_CASE("the oracle rounds a number to float32 like a float32 operation") {
    Difference difference(0.1);
    const double alpha = 0.1f;
    CHECK(values_of(Oracle().run(difference.call, difference.outputs)) ==
          std::vector<double>{1 + alpha * 4, -2 - alpha * 5, 3 - alpha * 6});
}

TEST_CASE("the oracle does not round numbers of a call without input tensors") {
    Call call(*find_row("diopiArange"));
    call["start"] = Scalar::of(0.1);
    call["end"] = Scalar::of(0.4);
    call["step"] = Scalar::of(0.2);
    CHECK(values_of(Oracle().run(call, {{0, {{2}, Dtype::float32, {}}}})) == std::vector<double>{0.1, 0.1 + 0.2});
}

TEST_CASE("the oracle takes a CSR input") {
    CaseTensor argument = testing::case_tensor("input", {6, 5});
    argument.sparse_csr = true;
    const auto sparse = draw(argument, 3);
    REQUIRE(sparse.ok());
    Call call(*find_row("diopiSpMM"));
    call["input"] = sparse->front();
    const TensorPtr column = rounded_tensor({1, 2, 3, 4, 5}, Dtype::float32);
    column->shape = {5, 1};
    column->strides = {1, 1};
    call["mat2"] = column;
    const std::vector<double> values = values_of(Oracle().run(call, {{0, {{6, 1}, Dtype::float32, {}}}}));
    const Tensor& csr = *sparse->front();
    for (size_t i = 0; i < 6; ++i) {
        double sum = 0;
        for (int64_t k = csr.crow_indices->data_as<int64_t>()[i]; k < csr.crow_indices->data_as<int64_t>()[i + 1];
             ++k) {
            sum += static_cast<double>(csr.values->data_as<float>()[k]) *
                   static_cast<double>(csr.col_indices->data_as<int64_t>()[k] + 1);
        }
        CHECK(values[i] == sum);
    }
}

TEST_CASE("magnitudes are added for any signs of the terms and of the factor") {
    for (const double alpha : {2.0, -2.0}) {
        Difference difference(alpha);
        const auto sums = Oracle().magnitude(difference.call, difference.outputs[0], Oracle::Terms::kAll);
        REQUIRE(sums.ok());
        const auto* sum = (*sums)->data_as<double>();
        CHECK(std::vector<double>(sum, sum + 3) == std::vector<double>{9, 12, 15});
    }
}

TEST_CASE("magnitudes of a mean with a negative divisor are positive") {
    Call call(*find_row("diopiAvgPool2d"));
    call["input"] = rounded_tensor({1, -2, 3, -4}, Dtype::float32);
    auto& input = *std::get<TensorPtr>(call["input"]);
    input.shape = {1, 2, 2}, input.strides = {4, 2, 1};
    call["kernel_size"] = call["stride"] = IntList{2, 2};
    call["padding"] = IntList{0, 0};
    call["ceil_mode"] = false;
    call["count_include_pad"] = true;
    call["divisor_override"] = int64_t{-5};
    const OutputSpec out{0, {{1, 1, 1}, Dtype::float32, {}}};
    const auto sums = Oracle().magnitude(call, out, Oracle::Terms::kAll);
    REQUIRE(sums.ok());
    CHECK((*sums)->data_as<double>()[0] == 2);
}

TEST_CASE("part of the terms gives a lower bound of their magnitudes, all of them the sum") {
    Call call(*find_row("diopiConvolution2d"));
    const auto filled = [](const Shape& shape, float value) {
        auto made = make_tensor(cpu_device(), {shape, Dtype::float32, {}});
        REQUIRE(made.ok());
        std::fill_n((*made)->data_as<float>(), (*made)->numel(), value);
        return *made;
    };
    call["input"] = filled({1, 16, 2, 2}, -2);
    call["weight"] = filled({3, 16, 1, 1}, 0.5);
    call["stride"] = call["dilation"] = IntList{1, 1};
    call["padding"] = IntList{0, 0};
    call["groups"] = int64_t{1};
    const OutputSpec out{0, {{1, 3, 2, 2}, Dtype::float32, {}}};
    const auto part = Oracle().magnitude(call, out, Oracle::Terms::kPart);
    const auto all = Oracle().magnitude(call, out, Oracle::Terms::kAll);
    REQUIRE((part.ok() && all.ok()));
    CHECK((*part)->data_as<double>()[0] == 2);
    CHECK((*all)->data_as<double>()[0] == 16);
}

TEST_CASE("the sum of the terms has no infinite ones") {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    Call call(*find_row("diopiAdd"));
    call["input"] = rounded_tensor({-1, kInf, -kInf}, Dtype::float32);
    call["other"] = rounded_tensor({2, -3, kInf}, Dtype::float32);
    call["alpha"] = Scalar::of(2.0);
    const auto sums = Oracle().magnitude(call, {0, {{3}, Dtype::float32, {}}}, Oracle::Terms::kAll);
    REQUIRE(sums.ok());
    const auto* sum = (*sums)->data_as<double>();
    CHECK(std::vector<double>(sum, sum + 3) == std::vector<double>{5, 6, 0});
}

TEST_CASE("the possible losses of TF32 count: terms with a denormal, and NaN for an infinite factor") {
    constexpr double kInf = std::numeric_limits<double>::infinity(), kRoundoff = 0x1p-10;
    const auto matrix = [](const std::vector<double>& values, Shape shape) {
        const TensorPtr tensor = rounded_tensor(values, Dtype::float32);
        tensor->strides = {shape[1], 1};
        tensor->shape = std::move(shape);
        return tensor;
    };
    Call call(*find_row("diopiMm"));
    call["input"] = matrix({-3, 2, 0x1p10, kInf, kInf, 1}, {3, 2});
    call["mat2"] = matrix({0x1p-140, -5}, {2, 1});
    const auto sums = Oracle().magnitude_in_tf32(call, {0, {{3, 1}, Dtype::float32, {}}}, kRoundoff);
    REQUIRE(sums.ok());
    const auto* sum = (*sums)->data_as<double>();
    CHECK(sum[0] == 10);  // 3 * 2^-140 is less than one bit of it
    CHECK(sum[1] == kInf);
    CHECK(std::isnan(sum[2]));

    call["input"] = matrix({-3}, {1, 1});
    call["mat2"] = matrix({0x1p-140}, {1, 1});
    const auto alone = Oracle().magnitude_in_tf32(call, {0, {{1, 1}, Dtype::float32, {}}}, kRoundoff);
    REQUIRE(alone.ok());
    CHECK(kRoundoff * (*alone)->data_as<double>()[0] >= 3 * 0x1p-140);
}

TEST_CASE("the expected value of an in-out argument is the one after the call") {
    Call call(*find_row("diopiMulInpScalar"));
    call["input"] = rounded_tensor({1, 2, 3}, Dtype::float16);
    call["other"] = Scalar::of(int64_t{3});
    CHECK(values_of(Oracle().run(call, {})) == std::vector<double>{3, 6, 9});
    CHECK(call.tensor("input")->dtype == Dtype::float16);
}

TEST_CASE("a function that the reference lacks is not implemented, and named") {
    Call call(*find_row("diopiConvexIouMmcv"));
    const auto result = Oracle().run(call, {});
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code == Errc::kNotImplemented);
    CHECK_THAT(result.error().message, Catch::Contains("diopiConvexIouMmcv"));
}

TEST_CASE("magnitudes are added if a factor is a plain number instead of a scalar") {
    Call call(*find_row("diopiBaddbmm"));
    const auto batch = [](double x) {
        const TensorPtr tensor = rounded_tensor({x}, Dtype::float32);
        tensor->shape = {1, 1, 1};
        tensor->strides = {1, 1, 1};
        return tensor;
    };
    call["input"] = batch(3);
    call["batch1"] = batch(2);
    call["batch2"] = batch(5);
    call["beta"] = -2.0;
    call["alpha"] = -0.5;
    const auto sums = Oracle().magnitude(call, {0, {{1, 1, 1}, Dtype::float32, {}}}, Oracle::Terms::kAll);
    REQUIRE(sums.ok());
    CHECK((*sums)->data_as<double>()[0] == 11);
    Call in_place(*find_row("diopiBaddbmmInp"));
    for (const char* arg : {"input", "batch1", "batch2", "beta", "alpha"}) in_place[arg] = call[arg];
    const auto inout = Oracle().magnitude(in_place, {0, {{1, 1, 1}, Dtype::float32, {}}}, Oracle::Terms::kAll);
    REQUIRE(inout.ok());
    CHECK((*inout)->data_as<double>()[0] == 11);
}

}  // namespace diopi
