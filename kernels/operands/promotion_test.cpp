#include "kernels/operands/promotion.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "kernels/operands/elementwise.hpp"
#include "kernels/operands/refusal.hpp"
#include "runtime/context.hpp"

namespace diopi::operands {
namespace {

TensorPtr tensor(Shape shape, Dtype dtype) {
    auto made = make_tensor(cpu_device(), {std::move(shape), dtype, {}});
    REQUIRE(made.ok());
    return *made;
}

Dtype with_real_number(Dtype dtype) {
    const TensorPtr x = tensor({2}, dtype);
    const diopiScalar_t number = real_number(1.5);
    return with_number(x.get(), x.get(), &number).result;
}

}  // namespace

TEST_CASE("operands: a 0-dim tensor and a number count only with a higher category") {
    const TensorPtr half = tensor({2}, Dtype::float16), zero_dim = tensor({}, Dtype::float64);
    const TensorPtr integers = tensor({2}, Dtype::int8), wide = tensor({2}, Dtype::int64);
    CHECK(with_tensor(half.get(), half.get(), zero_dim.get()).result == Dtype::float16);
    CHECK(with_tensor(half.get(), integers.get(), zero_dim.get()).result == Dtype::float64);
    CHECK(with_tensor(half.get(), integers.get(), wide.get()).result == Dtype::int64);
    CHECK(with_real_number(Dtype::float16) == Dtype::float16);
    CHECK(with_real_number(Dtype::int64) == Dtype::float32);
}

TEST_CASE("operands: an output that cannot hold the result is refused") {
    const TensorPtr out = tensor({2}, Dtype::int32), x = tensor({2}, Dtype::float32);
    CHECK(check_any_operands("diopiAdd", with_tensor(out.get(), x.get(), x.get())) == diopiDtypeNotSupported);
    CHECK_THAT(last_error(), Catch::Contains("diopiAdd: out is int32"));
    CHECK(check_any_operands("diopiAdd", with_tensor(x.get(), out.get(), out.get())) == diopiSuccess);
}

TEST_CASE("operands: shapes that do not fit are refused") {
    const TensorPtr x = tensor({2, 3}, Dtype::float32), row = tensor({3}, Dtype::float32);
    const TensorPtr other = tensor({2}, Dtype::float32);
    CHECK(check_any_operands("diopiAdd", with_tensor(x.get(), x.get(), row.get())) == diopiSuccess);
    CHECK(check_any_operands("diopiAdd", with_tensor(x.get(), x.get(), other.get())) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("broadcasts with input's (2, 3)"));
    CHECK(check_any_operands("diopiAdd", with_tensor(row.get(), x.get(), row.get())) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("out has shape (3,), wanted (2, 3)"));
}

TEST_CASE("operands: complex numbers have no larger one") {
    const TensorPtr x = tensor({2}, Dtype::complex64), y = tensor({2}, Dtype::float32);
    for (const TensorPtr& input : {x, y}) {
        Operands operands = with_tensor(x.get(), input.get(), x.get());
        CHECK(read_ordered("diopiMaximum", operands) == diopiDtypeNotSupported);
    }
    CHECK(check_unary("diopiRelu", view(x.get()), view(x.get()), true) == diopiDtypeNotSupported);
}

TEST_CASE("operands: an integer without dimensions is read in the dtype of the result") {
    const auto read = [](Dtype input, Dtype other) {
        const TensorPtr x = tensor({2}, input), y = tensor({}, other), out = tensor({2}, promote(input, other));
        Operands operands = with_tensor(out.get(), x.get(), y.get());
        CHECK(read_ordered("diopiMaximum", operands) == diopiSuccess);
        CHECK(operands.input.dtype == input);
        return operands.other.dtype;
    };
    CHECK(read(Dtype::int32, Dtype::int64) == Dtype::int32);
    CHECK(read(Dtype::uint8, Dtype::int8) == Dtype::uint8);
    // A wider computation has the same value.
    CHECK(read(Dtype::int32, Dtype::uint8) == Dtype::uint8);
    CHECK(read(Dtype::float32, Dtype::int64) == Dtype::int64);
    CHECK(read(Dtype::boolean, Dtype::int64) == Dtype::int64);

    const TensorPtr bytes = tensor({2}, Dtype::uint8);
    const diopiScalar_t minus = whole_number(-1);
    Operands quotient = with_number(bytes.get(), bytes.get(), &minus);
    CHECK(read_quotient("diopiDivScalar", RoundModeTrunc, quotient) == diopiSuccess);
    CHECK(quotient.number.ival == 255);

    const TensorPtr wide = tensor({2}, Dtype::uint32), narrow = tensor({}, Dtype::int8);
    Operands operands = with_tensor(wide.get(), narrow.get(), wide.get());
    CHECK(read_ordered("diopiMaximum", operands) == diopiDtypeNotSupported);
    CHECK_THAT(last_error(), Catch::Contains("diopiMaximum: a tensor without dimensions is int8, wanted uint32"));
}

TEST_CASE("operands: complex operands are accepted by other functions, and promote by category") {
    const TensorPtr x = tensor({2}, Dtype::complex64), half = tensor({2}, Dtype::float16);
    const TensorPtr zero_dim = tensor({}, Dtype::complex128);
    CHECK(check_any_operands("diopiAdd", with_tensor(x.get(), x.get(), half.get())) == diopiSuccess);
    CHECK(with_tensor(x.get(), half.get(), x.get()).result == Dtype::complex64);
    CHECK(with_tensor(x.get(), half.get(), zero_dim.get()).result == Dtype::complex32);
    CHECK(check_any_operands("diopiAdd", with_tensor(half.get(), x.get(), half.get())) == diopiDtypeNotSupported);
}

TEST_CASE("operands: a number as an element is rounded once, cut off, or a truth value") {
    // Between two halves, above the middle by less than a float32 ulp.
    const double above_middle = 1 + 0x1p-11 + 0x1p-40;
    CHECK(as_element(real_number(above_middle), Dtype::float16).fval == 1 + 0x1p-10);
    CHECK(as_element(real_number(1 + 0x1p-8 + 0x1p-40), Dtype::bfloat16).fval == 1 + 0x1p-7);
    CHECK(as_element(real_number(0.5), Dtype::boolean).ival == 1);
    CHECK(as_element(real_number(-2.7), Dtype::uint8).ival == -2);
    CHECK(as_element(real_number(1e10), Dtype::int32).ival == INT32_MIN);
    CHECK(as_element(real_number(1e10), Dtype::int64).ival == 10000000000);
    CHECK(as_element(real_number(NAN), Dtype::int64).ival == INT64_MIN);
    CHECK(as_element(real_number(0.1), Dtype::float64).fval == 0.1);
    CHECK(as_element(whole_number(300), Dtype::int8).ival == 300);  // the store cuts it off
}

TEST_CASE("operands: a number becomes an element of the compute type") {
    CHECK(number<bool>(real_number(0.5)));
    CHECK_FALSE(number<bool>(real_number(0)));
    CHECK(number<bool>(whole_number(2)));
    CHECK(number<float>(real_number(0.1)) == 0.1f);
    CHECK(number<int64_t>(real_number(-2.7)) == -2);
    CHECK(number<uint64_t>(whole_number(-1)) == UINT64_MAX);
    CHECK(number<double>(whole_number(3)) == 3.0);
}

}  // namespace diopi::operands
