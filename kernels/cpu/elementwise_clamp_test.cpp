#include <catch2/catch.hpp>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/testing.hpp"

using namespace diopi;
using namespace diopi::cpu::testing;

TEST_CASE("a number that bounds integers ends with their range", "[cpu][elementwise]") {
    const auto x = tensor(Dtype::uint8, {3}, {0, 100, 255}), out = blank(Dtype::uint8, {3});
    const auto limit = [&](int64_t low, int64_t high) {
        const auto min = scalar(low), max = scalar(high);
        REQUIRE(cpu::diopiClampScalar(&context, out.get(), x.get(), &min, &max) == diopiSuccess);
        return values(out);
    };
    CHECK(limit(-1, 1000) == Values{0, 100, 255});
    CHECK(limit(1, 200) == Values{1, 100, 200});
    CHECK(limit(300, 400) == Values{255, 255, 255});
    CHECK(limit(9, 3) == Values{3, 3, 3});
}

TEST_CASE("a bound may be absent, but not both, and a NaN stays or replaces all", "[cpu][elementwise]") {
    const Dtype dtype = GENERATE(Dtype::float32, Dtype::bfloat16, Dtype::float64, Dtype::float16);
    const auto x = tensor(dtype, {4}, {-2, 0.5, kNan, kInf}), out = blank(dtype, {4});
    const auto low = scalar(-1.0), high = scalar(0.25), nothing = scalar(kNan);
    REQUIRE(cpu::diopiClampScalar(&context, out.get(), x.get(), &low, nullptr) == diopiSuccess);
    CHECK(same(values(out), {-1, 0.5, kNan, kInf}));
    REQUIRE(cpu::diopiClampMaxScalar(&context, out.get(), x.get(), &high) == diopiSuccess);
    CHECK(same(values(out), {-2, 0.25, kNan, 0.25}));
    REQUIRE(cpu::diopiClampScalar(&context, out.get(), x.get(), &nothing, &high) == diopiSuccess);
    CHECK(same(values(out), {kNan, kNan, kNan, kNan}));
    const auto bounds = tensor(dtype, {4}, {kNan, 1, 0, 7});
    REQUIRE(cpu::diopiClampMin(&context, out.get(), x.get(), bounds.get()) == diopiSuccess);
    CHECK(same(values(out), {kNan, 1, kNan, kInf}));
    CHECK(cpu::diopiClamp(&context, out.get(), x.get(), nullptr, nullptr) == diopiErrorOccurred);
    CHECK(last_error() == "diopiClamp: min and max are null, wanted one of them");
}

TEST_CASE("bounds promote: a floating number makes integers floating", "[cpu][elementwise]") {
    const auto x = tensor(Dtype::int32, {3}, {-5, 0, 5}), out = blank(Dtype::float32, {3});
    const auto low = scalar(-1.5);
    REQUIRE(cpu::diopiClampMinScalar(&context, out.get(), x.get(), &low) == diopiSuccess);
    CHECK(values(out) == Values{-1.5, 0, 5});
    CHECK(cpu::diopiClampMinInpScalar(&context, x.get(), &low) == diopiDtypeNotSupported);
    // A tensor without dims wraps in the dtype of the others.
    const auto wrapped = tensor(Dtype::int64, {}, {4294967297}), whole = blank(Dtype::int32, {3});
    REQUIRE(cpu::diopiClampMax(&context, whole.get(), x.get(), wrapped.get()) == diopiSuccess);
    CHECK(values(whole) == Values{-5, 0, 1});
}

TEST_CASE("remainders have the sign of the divisor", "[cpu][elementwise]") {
    const Dtype dtype = GENERATE(Dtype::int8, Dtype::int64, Dtype::float16, Dtype::float32, Dtype::float64);
    const auto x = tensor(dtype, {4}, {7, -7, 7, -7}), y = tensor(dtype, {4}, {3, 3, -3, -3}), out = blank(dtype, {4});
    REQUIRE(cpu::diopiRemainderTensor(&context, out.get(), x.get(), y.get()) == diopiSuccess);
    CHECK(values(out) == Values{1, 2, -2, -1});
    const auto seven = scalar(int64_t{7});
    REQUIRE(cpu::diopiRemainder(&context, out.get(), &seven, y.get()) == diopiSuccess);
    CHECK(values(out) == Values{1, 1, -2, -2});
}

TEST_CASE("a remainder by 0 is NaN of floating numbers and an error of integers", "[cpu][elementwise]") {
    const auto x = tensor(Dtype::float32, {2}, {1, -1}), out = blank(Dtype::float32, {2});
    const auto zero = scalar(0.0), infinite = scalar(kInf);
    REQUIRE(cpu::diopiRemainderScalar(&context, out.get(), x.get(), &zero) == diopiSuccess);
    CHECK(same(values(out), {kNan, kNan}));
    REQUIRE(cpu::diopiRemainderScalar(&context, out.get(), x.get(), &infinite) == diopiSuccess);
    CHECK(same(values(out), {1, kInf}));
    const auto whole = tensor(Dtype::int16, {2}, {1, 2}), result = blank(Dtype::int16, {2});
    const auto nothing = scalar(int64_t{0});
    CHECK(cpu::diopiRemainderScalar(&context, result.get(), whole.get(), &nothing) == diopiErrorOccurred);
    CHECK(last_error() == "diopiRemainderScalar: ZeroDivisionError: an integer was divided by 0");
}

TEST_CASE("lerp starts from the nearer end", "[cpu][elementwise]") {
    const auto a = tensor(Dtype::float32, {2}, {1e8, 1}), b = tensor(Dtype::float32, {2}, {1, 1e8});
    const auto out = blank(Dtype::float32, {2});
    const auto all = scalar(int64_t{1});
    REQUIRE(cpu::diopiLerpScalar(&context, out.get(), a.get(), b.get(), &all) == diopiSuccess);
    CHECK(values(out) == Values{1, 1e8});
}

TEST_CASE("moduli neither overflow nor lose digits, and the sign of a complex number is on the circle",
          "[cpu][elementwise]") {
    const auto z = generate(Dtype::complex64, {3}, [](int64_t i) {
        return Complex(3, -4) * (i == 0 ? 1e30 : i == 1 ? 1e-30 : 0);
    });
    const auto out = blank(Dtype::float32, {3}), sign = blank(Dtype::complex64, {3});
    REQUIRE(cpu::diopiAbs(&context, out.get(), z.get()) == diopiSuccess);
    CHECK(values(out) == Values{rounded(Dtype::float32, 5e30), rounded(Dtype::float32, 5e-30), 0});
    REQUIRE(cpu::diopiSgn(&context, sign.get(), z.get()) == diopiSuccess);
    CHECK(complex_values(sign)[2] == Complex(0, 0));
    CHECK(std::abs(complex_values(sign)[0] - Complex(0.6, -0.8)) < 1e-7);
    CHECK(cpu::diopiAbsInp(&context, z.get()) == diopiDtypeNotSupported);
}

TEST_CASE("the sign of a complex number is on the circle whatever its size, but for zero and infinities",
          "[cpu][elementwise]") {
    const Dtype dtype = GENERATE(Dtype::complex64, Dtype::complex128);
    const bool is_narrow = dtype == Dtype::complex64;
    const int lowest = is_narrow ? -149 : -1074, highest = is_narrow ? 125 : 1021;
    const int64_t n = highest - lowest + 1;
    // 3 - 4 i in all sizes: exact where it is normal, and never rounded.
    const auto z = generate(dtype, {n}, [=](int64_t i) {
        const double unit = std::ldexp(1.0, lowest + static_cast<int>(i));
        return Complex(3 * unit, -4 * unit);
    });
    // And parts of very different size.
    const auto thin = generate(dtype, {n}, [=](int64_t i) {
        const int size = lowest + static_cast<int>(i);
        return Complex(std::ldexp(1.0, std::max(size - highest, lowest)), std::ldexp(1.0, size));
    });
    const auto sign = blank(dtype, {n}), of_thin = blank(dtype, {n});
    REQUIRE(cpu::diopiSgn(&context, sign.get(), z.get()) == diopiSuccess);
    REQUIRE(cpu::diopiSgn(&context, of_thin.get(), thin.get()) == diopiSuccess);
    const auto got = complex_values(sign), far = complex_values(of_thin), given = complex_values(thin);
    const double ulp = is_narrow ? 0x1p-23 : 0x1p-52;
    for (size_t i = 0; i < got.size(); ++i) {
        INFO("size 2^" << lowest + static_cast<int>(i));
        CHECK(std::abs(got[i].real() - 0.6) <= 2 * ulp * 0.6);
        CHECK(std::abs(got[i].imag() + 0.8) <= 2 * ulp * 0.8);
        if (given[i].real() >= given[i].imag() / 4) continue;
        const double ratio = given[i].real() / given[i].imag(), exact = ratio / std::sqrt(1 + ratio * ratio);
        CHECK(std::abs(far[i].real() - exact) <= 4 * ulp * exact);
        CHECK(std::abs(far[i].imag() - 1) <= 0.04);
    }
    const auto special = generate(dtype, {6}, [](int64_t i) {
        const double inf = HUGE_VAL;
        const Complex numbers[] = {{0, 0}, {-0.0, 0}, {inf, 1}, {1, -inf}, {NAN, 0}, {NAN, inf}};
        return numbers[i];
    });
    REQUIRE(cpu::diopiSgnInp(&context, special.get()) == diopiSuccess);
    const auto of_special = complex_values(special);
    CHECK(of_special[0] == Complex(0, 0));
    CHECK(of_special[1] == Complex(0, 0));
    for (size_t i = 2; i < 6; ++i) CHECK((std::isnan(of_special[i].real()) && std::isnan(of_special[i].imag())));
}

TEST_CASE("polar numbers have the sines and cosines of all angles, whatever their number",
          "[cpu][elementwise][vectors]") {
    const Dtype real = GENERATE(Dtype::float32, Dtype::float64);
    const Dtype complex = real == Dtype::float32 ? Dtype::complex64 : Dtype::complex128;
    const int64_t n = GENERATE(1, 7, 16, 100);
    const auto angle = generate(real, {n}, [](int64_t i) {
        const double angles[] = {0, -0.0, 0.5, -1.25, 3.14159265, 100, -1000.5, 1e6, -1e7, 1e9, 1e-30, 1.5707963};
        return i < 12 ? angles[i] : angles[i % 12] + static_cast<double>(i / 12);
    });
    const auto length =
        generate(real, {n}, [](int64_t i) { return i % 5 == 4 ? -2.0 : 0.25 * static_cast<double>(i); });
    const auto out = blank(complex, {n});
    REQUIRE(cpu::diopiPolar(&context, out.get(), length.get(), angle.get()) == diopiSuccess);
    const auto got = complex_values(out);
    const Values r = values(length), t = values(angle);
    const double ulps = real == Dtype::float32 ? 2 * 0x1p-23 : 2 * 0x1p-52;
    for (size_t i = 0; i < got.size(); ++i) {
        INFO("modulus " << r[i] << ", angle " << t[i]);
        const Complex exact(r[i] * std::cos(t[i]), r[i] * std::sin(t[i]));
        CHECK(std::abs(got[i].real() - exact.real()) <= ulps * std::abs(r[i]));
        CHECK(std::abs(got[i].imag() - exact.imag()) <= ulps * std::abs(exact.imag()) + ulps * 0.01);
        CHECK(std::signbit(got[i].imag()) == std::signbit(exact.imag()));
    }
}
