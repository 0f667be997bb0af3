#include <catch2/catch.hpp>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/testing.hpp"

using namespace diopi;
using namespace diopi::cpu::testing;

namespace {

using Compare = diopiError_t (*)(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t,
                                 diopiConstTensorHandle_t);

Values truth(Compare function, const TensorPtr& a, const TensorPtr& b, Dtype stored = Dtype::boolean) {
    const TensorPtr out = blank(stored, a->shape.empty() ? b->shape : a->shape);
    REQUIRE(function(&context, out.get(), a.get(), b.get()) == diopiSuccess);
    return values(out);
}

}  // namespace

TEST_CASE("comparisons of every dtype at tile edges, stored as bool and as numbers", "[cpu][elementwise]") {
    const Dtype dtype = GENERATE(Dtype::int8, Dtype::uint8, Dtype::int16, Dtype::int32, Dtype::int64, Dtype::float16,
                                 Dtype::bfloat16, Dtype::float32, Dtype::float64, Dtype::boolean);
    const Dtype stored = GENERATE(Dtype::boolean, Dtype::int8, Dtype::float32, Dtype::bfloat16);
    for (const int64_t n : {1, 7, 1023, 1025, 2049}) {
        const auto a = generate(dtype, {n}, [](int64_t i) { return static_cast<double>(i % 5 % 3); });
        const auto b = generate(dtype, {n}, [](int64_t i) { return static_cast<double>(i % 3); });
        const Values x = values(a), y = values(b);
        const auto by = [&](auto relation) {
            Values all;
            for (size_t i = 0; i < x.size(); ++i) all.push_back(relation(x[i], y[i]) ? 1 : 0);
            return all;
        };
        INFO(name(dtype) << " " << name(stored) << " " << n);
        CHECK(truth(cpu::diopiEq, a, b, stored) == by(std::equal_to<>()));
        CHECK(truth(cpu::diopiNe, a, b, stored) == by(std::not_equal_to<>()));
        CHECK(truth(cpu::diopiLt, a, b, stored) == by(std::less<>()));
        CHECK(truth(cpu::diopiLe, a, b, stored) == by(std::less_equal<>()));
        CHECK(truth(cpu::diopiGt, a, b, stored) == by(std::greater<>()));
        CHECK(truth(cpu::diopiGe, a, b, stored) == by(std::greater_equal<>()));
        CHECK(truth(cpu::diopiLogicalAnd, a, b, stored) == by(std::logical_and<>()));
        CHECK(truth(cpu::diopiLogicalOr, a, b, stored) == by(std::logical_or<>()));
    }
}

TEST_CASE("operands are converted to their common dtype, and then compared", "[cpu][elementwise]") {
    // 2049 is 2048 in float16, and 16777217 is 16777216 in float32.
    const auto halves = tensor(Dtype::float16, {2}, {2048, 2050}), wholes = tensor(Dtype::int64, {2}, {2049, 2049});
    CHECK(truth(cpu::diopiEq, halves, wholes) == Values{1, 0});
    CHECK(truth(cpu::diopiEq, wholes, halves) == Values{1, 0});
    const auto floats = tensor(Dtype::float32, {1}, {16777216}), large = tensor(Dtype::int64, {1}, {16777217});
    CHECK(truth(cpu::diopiLt, floats, large) == Values{0});
    // A tensor without dims counts only by its category: it wraps, or is rounded.
    const auto bytes = tensor(Dtype::uint8, {3}, {44, 255, 1});
    CHECK(truth(cpu::diopiEq, bytes, tensor(Dtype::int64, {}, {300})) == Values{1, 0, 0});
    CHECK(truth(cpu::diopiLogicalAnd, bytes, tensor(Dtype::int64, {}, {256})) == Values{0, 0, 0});
    CHECK(truth(cpu::diopiEq, tensor(Dtype::float16, {1}, {0.1}), tensor(Dtype::float32, {}, {0.1})) == Values{1});
}

TEST_CASE("numbers beside tensors are compared in the dtype of the operation", "[cpu][elementwise]") {
    const auto truth_of_number = [](Dtype dtype, double element, diopiScalar_t other) {
        const auto out = blank(Dtype::boolean, {1});
        REQUIRE(cpu::diopiEqScalar(&context, out.get(), tensor(dtype, {1}, {element}).get(), &other) == diopiSuccess);
        return values(out) == Values{1};
    };
    CHECK(truth_of_number(Dtype::uint8, 255, scalar(int64_t{-1})));
    CHECK(truth_of_number(Dtype::float16, 0.1, scalar(0.1)));
    CHECK(truth_of_number(Dtype::bfloat16, 0.1, scalar(0.1)));
    CHECK(truth_of_number(Dtype::float32, 0.1, scalar(0.1)));
    CHECK_FALSE(truth_of_number(Dtype::float64, 0.1, scalar(0.1 + 1e-12)));
    CHECK_FALSE(truth_of_number(Dtype::boolean, 1, scalar(int64_t{2})));
}

TEST_CASE("a comparison in place leaves 0 and 1 in the dtype of the tensor", "[cpu][elementwise]") {
    const auto x = tensor(Dtype::int8, {2, 2}, {1, 2, 3, -4}, {1, 3});
    REQUIRE(cpu::diopiGeInp(&context, x.get(), tensor(Dtype::float32, {2}, {1.5, 2}).get()) == diopiSuccess);
    CHECK(values(x) == Values{0, 1, 1, 0});
    const auto z = generate(Dtype::complex64, {2}, [](int64_t i) { return Complex(0, static_cast<double>(i)); });
    REQUIRE(cpu::diopiLogicalNotInp(&context, z.get()) == diopiSuccess);
    CHECK(complex_values(z) == std::vector<Complex>{1, 0});
}

TEST_CASE("NaN is unequal to all, and true, and complex numbers have no order", "[cpu][elementwise]") {
    const auto x = tensor(Dtype::bfloat16, {3}, {kNan, kInf, 0});
    CHECK(truth(cpu::diopiEq, x, x) == Values{0, 1, 1});
    CHECK(truth(cpu::diopiNe, x, x) == Values{1, 0, 0});
    CHECK(truth(cpu::diopiLe, x, x) == Values{0, 1, 1});
    CHECK(truth(cpu::diopiLogicalOr, x, x) == Values{1, 1, 0});
    const auto out = blank(Dtype::boolean, {2});
    const auto z = generate(Dtype::complex64, {2}, [](int64_t i) { return Complex(1, i == 0 ? kNan : 2); });
    REQUIRE(cpu::diopiIsNan(&context, out.get(), z.get()) == diopiSuccess);
    CHECK(values(out) == Values{1, 0});
    CHECK(cpu::diopiLt(&context, out.get(), z.get(), z.get()) == diopiDtypeNotSupported);
    CHECK(last_error() == "diopiLt: input is complex64, wanted a real dtype: complex numbers have no order");
}

TEST_CASE("equal tensors have one shape and equal elements of their common dtype", "[cpu][elementwise]") {
    const auto equal = [](const TensorPtr& a, const TensorPtr& b) {
        bool out = false;
        REQUIRE(cpu::diopiEqual(&context, &out, a.get(), b.get()) == diopiSuccess);
        return out;
    };
    const auto x = generate(Dtype::float32, {3000}, [](int64_t i) { return static_cast<double>(i); });
    const auto y = generate(Dtype::int64, {3000}, [](int64_t i) { return static_cast<double>(i); });
    const auto z = generate(Dtype::int64, {3000}, [](int64_t i) { return i == 2999 ? 0 : static_cast<double>(i); });
    CHECK(equal(x, y));
    CHECK_FALSE(equal(x, z));
    CHECK_FALSE(equal(tensor(Dtype::int8, {2, 1}, {1, 2}), tensor(Dtype::int8, {1, 2}, {1, 2})));
    CHECK(equal(tensor(Dtype::float32, {0}, {}), tensor(Dtype::float32, {0}, {})));
    CHECK_FALSE(equal(tensor(Dtype::float64, {1}, {kNan}), tensor(Dtype::float64, {1}, {kNan})));
    CHECK(cpu::diopiEqual(&context, nullptr, x.get(), y.get()) == diopiErrorOccurred);
}

TEST_CASE("large tensors differ wherever one element differs, in any dtype and layout", "[cpu][elementwise]") {
    constexpr int64_t kCount = 600000;
    for (const Dtype dtype : {Dtype::float32, Dtype::bfloat16, Dtype::int64, Dtype::boolean}) {
        for (const Shape& strides : {Shape{}, Shape{2}}) {
            const auto ones = generate(
                dtype, {kCount}, [](int64_t) { return 1.0; }, strides);
            for (const int64_t other : {int64_t{-1}, int64_t{0}, int64_t{262144}, kCount - 1}) {
                const auto x = generate(dtype, {kCount}, [=](int64_t i) { return i == other ? 0.0 : 1.0; });
                bool out = false;
                REQUIRE(cpu::diopiEqual(&context, &out, ones.get(), x.get()) == diopiSuccess);
                INFO(name(dtype) << " " << other);
                CHECK(out == (other < 0));
            }
        }
    }
}
