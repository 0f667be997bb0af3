#include <catch2/catch.hpp>
#include <limits>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/testing.hpp"

using namespace diopi;
using namespace diopi::cpu::testing;

namespace {

const Dtype kReals[] = {Dtype::int8,    Dtype::uint8,    Dtype::int16,  Dtype::uint16,  Dtype::int32,
                        Dtype::uint32,  Dtype::int64,    Dtype::uint64, Dtype::float16, Dtype::float32,
                        Dtype::float64, Dtype::bfloat16, Dtype::boolean};

double small(int64_t i) { return static_cast<double>((i * 7 + 3) % 11); }

/// Values of `t` broadcast to `shape`, by index arithmetic.
Values broadcast(const TensorPtr& t, const Shape& shape) {
    const Values all = values(t);
    const Shape dense = contiguous_strides(t->shape);
    Shape strides(shape.size(), 0);
    const size_t skip = shape.size() - t->shape.size();
    for (size_t d = 0; d < t->shape.size(); ++d) strides[skip + d] = t->shape[d] == 1 ? 0 : dense[d];
    Values result;
    for_each_offset(shape, strides, [&](int64_t at) { result.push_back(all[static_cast<size_t>(at)]); });
    return result;
}

template <class F>
Values naive(const TensorPtr& out, const TensorPtr& a, const TensorPtr& b, F&& f) {
    const Values x = broadcast(a, out->shape);
    const Values y = broadcast(b, out->shape);
    Values result;
    for (size_t i = 0; i < x.size(); ++i) result.push_back(rounded(out->dtype, f(x[i], y[i])));
    return result;
}

}  // namespace

TEST_CASE("add and mul agree with a plain loop for every dtype at tile edges", "[cpu][elementwise]") {
    const diopiScalar_t two = scalar(int64_t{2});
    for (const Dtype dtype : kReals) {
        if (dtype == Dtype::boolean) continue;
        for (const int64_t n : {1, 7, 1023, 1024, 1025, 2049}) {
            const TensorPtr a = generate(dtype, {n}, small);
            const TensorPtr b = generate(dtype, {n}, [](int64_t i) { return small(i + 5); });
            const TensorPtr sum = blank(dtype, {n});
            const TensorPtr product = blank(dtype, {n});
            REQUIRE(cpu::diopiAdd(&context, sum.get(), a.get(), b.get(), &two) == diopiSuccess);
            REQUIRE(cpu::diopiMul(&context, product.get(), a.get(), b.get()) == diopiSuccess);
            INFO(name(dtype) << " n " << n);
            CHECK(same(values(sum), naive(sum, a, b, [](double x, double y) { return x + 2 * y; })));
            CHECK(same(values(product), naive(product, a, b, [](double x, double y) { return x * y; })));
        }
    }
}

TEST_CASE("operands of two dtypes are computed in the promoted one", "[cpu][elementwise]") {
    for (const Dtype da : kReals) {
        for (const Dtype db : kReals) {
            const Dtype result = promote(da, db);
            if (result == Dtype::boolean) continue;
            const TensorPtr a = generate(da, {1025}, small);
            const TensorPtr b = generate(db, {1025}, [](int64_t i) { return small(i + 2); });
            const TensorPtr out = blank(result, {1025});
            REQUIRE(cpu::diopiAdd(&context, out.get(), a.get(), b.get(), nullptr) == diopiSuccess);
            INFO(name(da) << " + " << name(db));
            CHECK(same(values(out), naive(out, a, b, [](double x, double y) { return x + y; })));
            REQUIRE(cpu::diopiMul(&context, out.get(), a.get(), b.get()) == diopiSuccess);
            INFO(name(da) << " * " << name(db));
            CHECK(same(values(out), naive(out, a, b, [](double x, double y) { return x * y; })));
        }
    }
}

TEST_CASE("a + alpha * b is rounded once in float32 and float64", "[cpu][elementwise]") {
    const diopiScalar_t alpha = scalar(-2.123);
    const int64_t n = 3000;
    const auto a = generate(Dtype::float32, {n}, [](int64_t i) { return std::sin(0.7 * double(i)) * 3; });
    const auto b = generate(Dtype::float32, {n}, [](int64_t i) { return std::cos(1.3 * double(i)); });
    const auto out = blank(Dtype::float32, {n});
    REQUIRE(cpu::diopiAdd(&context, out.get(), a.get(), b.get(), &alpha) == diopiSuccess);
    const auto x = values(a), y = values(b);
    int64_t wrong = 0;
    int64_t differs_from_two_roundings = 0;
    for (int64_t i = 0; i < n; ++i) {
        const auto k = static_cast<size_t>(i);
        const float scale = -2.123f;
        const float once = std::fma(scale, float(y[k]), float(x[k]));
        const float product = scale * float(y[k]);
        wrong += out->data_as<float>()[i] != once;
        differs_from_two_roundings += once != product + float(x[k]);
    }
    CHECK(wrong == 0);
    CHECK(differs_from_two_roundings > 100);

    const auto c = tensor(Dtype::float64, {1}, {1.0});
    const auto d = tensor(Dtype::float64, {1}, {0x1p-53 + 0x1p-80});
    REQUIRE(cpu::diopiSubInp(&context, c.get(), d.get(), nullptr) == diopiSuccess);
    CHECK(values(c)[0] == 1.0 - 0x1p-53);
}

TEST_CASE("half types round to nearest, ties to even", "[cpu][elementwise]") {
    for (const auto& [dtype, ulp] : {std::pair{Dtype::float16, 0x1p-10}, {Dtype::bfloat16, 0x1p-7}}) {
        const auto a = tensor(dtype, {4}, {1.0, 1.0 + ulp, 1.0, 1.0});
        const auto b = tensor(dtype, {4}, {ulp / 2, ulp / 2, ulp * 0.75, kNan});
        const auto out = blank(dtype, {4});
        REQUIRE(cpu::diopiAdd(&context, out.get(), a.get(), b.get(), nullptr) == diopiSuccess);
        CHECK(same(values(out), Values{1.0, 1.0 + 2 * ulp, 1.0 + ulp, kNan}));
    }
    const auto big = tensor(Dtype::float16, {1}, {65504});
    REQUIRE(cpu::diopiAddInp(&context, big.get(), big.get(), nullptr) == diopiSuccess);
    CHECK(values(big)[0] == kInf);
}

TEST_CASE("shapes broadcast as in PyTorch", "[cpu][elementwise]") {
    const std::pair<Shape, Shape> pairs[] = {{{}, {4, 16}},
                                             {{64}, {}},
                                             {{2, 1, 128}, {384, 128}},
                                             {{8, 3, 3}, {1}},
                                             {{2, 4, 1, 16}, {4, 5, 16}},
                                             {{2, 4, 13, 13}, {5, 2, 4, 1, 13}},
                                             {{8, 16, 1}, {16, 7}},
                                             {{2, 40, 130}, {2, 40, 1}},
                                             {{3, 2000}, {2000}},
                                             {{3000, 1}, {3}},
                                             {{1, 40}, {50, 1}},
                                             {{0}, {16, 0}},
                                             {{32, 0, 16}, {0, 16}},
                                             {{8, 16, 1}, {16, 0}}};
    for (const auto& [sa, sb] : pairs) {
        const auto a = generate(Dtype::float32, sa, small);
        const auto b = generate(Dtype::float32, sb, [](int64_t i) { return small(3 * i + 1); });
        const auto out = blank(Dtype::float32, *broadcast_shapes(sa, sb));
        REQUIRE(cpu::diopiSub(&context, out.get(), a.get(), b.get(), nullptr) == diopiSuccess);
        INFO(to_string(sa) << " " << to_string(sb));
        CHECK(same(values(out), naive(out, a, b, [](double x, double y) { return x - y; })));
        // The same through conversions.
        const auto h = generate(Dtype::bfloat16, sb, [](int64_t i) { return small(3 * i + 1); });
        REQUIRE(cpu::diopiSub(&context, out.get(), a.get(), h.get(), nullptr) == diopiSuccess);
        CHECK(same(values(out), naive(out, a, b, [](double x, double y) { return x - y; })));
    }
}

TEST_CASE("any strides", "[cpu][elementwise]") {
    const Shape shape = {5, 70, 50};
    const Shape layouts[] = {{}, {3500, 1, 70}, {1, 5, 350}, {7000, 100, 2}, {1, 250, 5}, {0, 50, 1}, {0, 0, 0}};
    for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::int8, Dtype::int64, Dtype::complex128}) {
        for (const Shape& la : layouts) {
            const auto a = generate(dtype, shape, small, la);
            const auto b = generate(
                dtype, shape, [](int64_t i) { return small(i * i + 1); }, layouts[1]);
            for (const Shape& lo : {layouts[0], layouts[1], layouts[2], layouts[3]}) {
                const auto out = blank(dtype, shape, lo);
                REQUIRE(cpu::diopiAdd(&context, out.get(), a.get(), b.get(), nullptr) == diopiSuccess);
                INFO(name(dtype) << " a " << to_string(la) << " out " << to_string(lo));
                CHECK(same(values(out), naive(out, a, b, [](double x, double y) { return x + y; })));
            }
        }
    }
}

TEST_CASE("elements between those of a strided out stay as they were", "[cpu][elementwise]") {
    const auto out = blank(Dtype::int32, {1030}, {2});
    const auto a = generate(Dtype::int32, {1030}, small);
    REQUIRE(cpu::diopiAdd(&context, out.get(), a.get(), a.get(), nullptr) == diopiSuccess);
    for (int64_t i = 0; i < 1029; ++i) REQUIRE(out->data_as<int32_t>()[2 * i + 1] == -1);
}

TEST_CASE("in place, also when the operands overlap", "[cpu][elementwise]") {
    SECTION("the same tensor") {
        const auto x = tensor(Dtype::float32, {3}, {1, 2, 3});
        REQUIRE(cpu::diopiMulInp(&context, x.get(), x.get()) == diopiSuccess);
        CHECK(values(x) == Values{1, 4, 9});
    }
    SECTION("other is the first row of input") {
        const auto x = generate(Dtype::float32, {3, 1500}, small);
        const auto row = alias(x, {1500}, {1});
        const Values wanted = naive(x, x, row, [](double a, double b) { return a + b; });
        REQUIRE(cpu::diopiAddInp(&context, x.get(), row.get(), nullptr) == diopiSuccess);
        CHECK(same(values(x), wanted));
    }
    SECTION("other is input shifted by one") {
        for (const Dtype dtype : {Dtype::float16, Dtype::float32, Dtype::int32}) {
            const auto storage = generate(dtype, {3001}, small);
            const auto x = alias(storage, {3000}, {1}, 1);
            const auto shifted = alias(storage, {3000}, {1});
            const Values wanted = naive(x, x, shifted, [](double a, double b) { return a + b; });
            REQUIRE(cpu::diopiAddInp(&context, x.get(), shifted.get(), nullptr) == diopiSuccess);
            CHECK(same(values(x), wanted));
        }
    }
    SECTION("other is input transposed") {
        const auto x = generate(Dtype::float32, {40, 40}, small);
        const auto t = alias(x, {40, 40}, {1, 40});
        const Values wanted = naive(x, x, t, [](double a, double b) { return a - b; });
        REQUIRE(cpu::diopiSubInp(&context, x.get(), t.get(), nullptr) == diopiSuccess);
        CHECK(same(values(x), wanted));
    }
    SECTION("other has the wider dtype") {
        const auto x = tensor(Dtype::float16, {2}, {1, 2});
        const auto y = tensor(Dtype::float64, {2}, {0.5, 0.25});
        REQUIRE(cpu::diopiAddInp(&context, x.get(), y.get(), nullptr) == diopiSuccess);
        CHECK(values(x) == Values{1.5, 2.25});
    }
}

TEST_CASE("a 0-dim tensor raises the dtype only by its category", "[cpu][elementwise]") {
    const auto x = tensor(Dtype::int8, {2}, {100, 27});
    const auto y = tensor(Dtype::int64, {}, {100});
    // The sum is int8, whatever the output's dtype: torch.add(x, y, out=...) of PyTorch 1.13 gives the same.
    const auto out = blank(Dtype::int16, {2});
    REQUIRE(cpu::diopiAdd(&context, out.get(), x.get(), y.get(), nullptr) == diopiSuccess);
    CHECK(values(out) == Values{-56, 127});
    const auto narrow = blank(Dtype::int8, {2});
    REQUIRE(cpu::diopiAdd(&context, narrow.get(), x.get(), y.get(), nullptr) == diopiSuccess);
    CHECK(values(narrow) == Values{-56, 127});
    const auto half = tensor(Dtype::float64, {}, {0.5});
    const auto real = blank(Dtype::float64, {2});
    REQUIRE(cpu::diopiMul(&context, real.get(), half.get(), x.get()) == diopiSuccess);
    CHECK(values(real) == Values{50, 13.5});
}

TEST_CASE("a 0-dim float64 tensor is rounded to the float32 of the other", "[cpu][elementwise]") {
    const auto x = tensor(Dtype::float32, {1}, {3});
    const auto y = tensor(Dtype::float64, {}, {1 + 0x1p-24});
    const auto out = blank(Dtype::float32, {1});
    REQUIRE(cpu::diopiMul(&context, out.get(), x.get(), y.get()) == diopiSuccess);
    CHECK(values(out) == Values{3});
}

TEST_CASE("bool: sum is or, product is and, no difference", "[cpu][elementwise]") {
    const auto a = tensor(Dtype::boolean, {4}, {0, 0, 1, 1});
    const auto b = tensor(Dtype::boolean, {4}, {0, 1, 0, 1});
    const auto out = blank(Dtype::boolean, {4});
    const diopiScalar_t yes = scalar(true), no = scalar(false);
    REQUIRE(cpu::diopiAdd(&context, out.get(), a.get(), b.get(), &yes) == diopiSuccess);
    CHECK(values(out) == Values{0, 1, 1, 1});
    REQUIRE(cpu::diopiAdd(&context, out.get(), a.get(), b.get(), &no) == diopiSuccess);
    CHECK(values(out) == Values{0, 0, 1, 1});
    REQUIRE(cpu::diopiMul(&context, out.get(), a.get(), b.get()) == diopiSuccess);
    CHECK(values(out) == Values{0, 0, 0, 1});
    const auto wide = blank(Dtype::int32, {4});
    REQUIRE(cpu::diopiAdd(&context, wide.get(), a.get(), b.get(), nullptr) == diopiSuccess);
    CHECK(values(wide) == Values{0, 1, 1, 1});
    CHECK(cpu::diopiSub(&context, out.get(), a.get(), b.get(), nullptr) == diopiDtypeNotSupported);
    CHECK(last_error().find("logical_xor") != std::string::npos);
    REQUIRE(cpu::diopiDiv(&context, blank(Dtype::float32, {4}).get(), a.get(), b.get(), RoundModeNone) == diopiSuccess);
}

TEST_CASE("integers wrap around", "[cpu][elementwise]") {
    const auto a = tensor(Dtype::int8, {3}, {127, -128, 100});
    const auto b = tensor(Dtype::int8, {3}, {1, -1, 3});
    const auto out = blank(Dtype::int8, {3});
    REQUIRE(cpu::diopiAdd(&context, out.get(), a.get(), b.get(), nullptr) == diopiSuccess);
    CHECK(values(out) == Values{-128, 127, 103});
    REQUIRE(cpu::diopiMul(&context, out.get(), a.get(), b.get()) == diopiSuccess);
    CHECK(values(out) == Values{127, -128, 44});
    const auto u = tensor(Dtype::uint16, {1}, {65535});
    REQUIRE(cpu::diopiMulInp(&context, u.get(), u.get()) == diopiSuccess);
    CHECK(values(u) == Values{1});
}

TEST_CASE("integers wrap in the dtype of the operands, before they are converted to a wider out",
          "[cpu][elementwise]") {
    const auto a = tensor(Dtype::uint8, {3}, {255, 200, 1}), b = tensor(Dtype::uint8, {3}, {255, 100, 2});
    const auto low = tensor(Dtype::int8, {1}, {-128}), minus = tensor(Dtype::int8, {1}, {-1});
    const diopiScalar_t two = scalar(int64_t{2}), many = scalar(int64_t{300});
    for (const Dtype dtype :
         {Dtype::int16, Dtype::uint16, Dtype::int32, Dtype::int64, Dtype::float16, Dtype::float32, Dtype::float64}) {
        INFO(name(dtype));
        const auto out = blank(dtype, {3}), one = blank(dtype, {1});
        REQUIRE(cpu::diopiMul(&context, out.get(), a.get(), b.get()) == diopiSuccess);
        CHECK(values(out) == Values{1, 32, 2});
        REQUIRE(cpu::diopiAdd(&context, out.get(), a.get(), b.get(), nullptr) == diopiSuccess);
        CHECK(values(out) == Values{254, 44, 3});
        REQUIRE(cpu::diopiAdd(&context, out.get(), a.get(), b.get(), &many) == diopiSuccess);
        CHECK(values(out) == Values{211, 248, 89});
        REQUIRE(cpu::diopiSub(&context, out.get(), a.get(), b.get(), &two) == diopiSuccess);
        CHECK(values(out) == Values{1, 0, 253});
        REQUIRE(cpu::diopiMulScalar(&context, out.get(), a.get(), &many) == diopiSuccess);
        CHECK(values(out) == Values{212, 96, 44});
        REQUIRE(cpu::diopiAddScalar(&context, out.get(), a.get(), &many, nullptr) == diopiSuccess);
        CHECK(values(out) == Values{43, 244, 45});
        REQUIRE(cpu::diopiSubScalar(&context, out.get(), a.get(), &two, nullptr) == diopiSuccess);
        CHECK(values(out) == Values{253, 198, 255});
        REQUIRE(cpu::diopiPow(&context, out.get(), a.get(), &two) == diopiSuccess);
        CHECK(values(out) == Values{1, 64, 1});
        REQUIRE(cpu::diopiAddcmul(&context, out.get(), a.get(), a.get(), b.get(), &two) == diopiSuccess);
        CHECK(values(out) == Values{1, 8, 5});
        REQUIRE(cpu::diopiDiv(&context, one.get(), low.get(), minus.get(), RoundModeTrunc) == diopiSuccess);
        CHECK(values(one)[0] == rounded(dtype, dtype == Dtype::uint16 ? 65408 : -128));
        if (dtype == Dtype::uint16) continue;
        REQUIRE(cpu::diopiNeg(&context, one.get(), low.get()) == diopiSuccess);
        CHECK(values(one) == Values{-128});
    }
    // A number of a higher category promotes, and one beside int64 does not wrap sooner.
    const diopiScalar_t half = scalar(0.5);
    const auto real = blank(Dtype::float64, {3});
    REQUIRE(cpu::diopiMulScalar(&context, real.get(), a.get(), &half) == diopiSuccess);
    CHECK(values(real) == Values{127.5, 100, 0.5});
    const auto wide = tensor(Dtype::int64, {3}, {1 << 20, 2, 3});
    REQUIRE(cpu::diopiMul(&context, real.get(), wide.get(), wide.get()) == diopiSuccess);
    CHECK(values(real) == Values{0x1p40, 4, 9});
}

TEST_CASE("true division", "[cpu][elementwise]") {
    const auto a = tensor(Dtype::int32, {4}, {7, -7, 1, 0});
    const auto b = tensor(Dtype::int32, {4}, {2, 2, 0, 0});
    const auto out = blank(Dtype::float32, {4});
    REQUIRE(cpu::diopiDiv(&context, out.get(), a.get(), b.get(), RoundModeNone) == diopiSuccess);
    CHECK(same(values(out), Values{3.5, -3.5, kInf, kNan}));
    CHECK(cpu::diopiDivInp(&context, a.get(), b.get(), RoundModeNone) == diopiDtypeNotSupported);
    const auto x = tensor(Dtype::float32, {2}, {1, -1});
    const auto zero = tensor(Dtype::float32, {2}, {0, 0});
    REQUIRE(cpu::diopiDivInp(&context, x.get(), zero.get(), RoundModeNone) == diopiSuccess);
    CHECK(values(x) == Values{kInf, -kInf});
}

TEST_CASE("rounded division of floating numbers follows PyTorch's edge cases", "[cpu][elementwise]") {
    const Values a = {7, -7, 7, -7, 6, -6, 1, -1, 0, kInf, 5, -5, kNan, 0x1p100, -0.5, 1, 3};
    const Values b = {2, 2, -2, -2, 3, 3, 0, 0, 0, 2, kInf, kInf, 1, 3, 0x1p60, 0.1, -kInf};
    const double huge = std::floor(0x1p100 / 3);
    const Values floors = {3, -4, -4, 3, 2, -2, kInf, -kInf, kNan, kNan, 0, -1, kNan, huge, -1, 9, -1};
    const Values truncated = {3, -3, -3, 3, 2, -2, kInf, -kInf, kNan, kInf, 0, -0.0, kNan, huge, -0.0, 10, -0.0};
    for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
        const int64_t n = static_cast<int64_t>(a.size());
        const auto x = tensor(dtype, {n}, a), y = tensor(dtype, {n}, b), out = blank(dtype, {n});
        REQUIRE(cpu::diopiDiv(&context, out.get(), x.get(), y.get(), RoundModeFloor) == diopiSuccess);
        for (size_t i = 0; i < a.size(); ++i) {
            INFO(name(dtype) << ": floor " << a[i] << " / " << b[i]);
            if (a[i] == 0x1p100) {
                CHECK(values(out)[i] == Approx(huge));
            } else {
                CHECK(same(values(out)[i], floors[i]));
            }
        }
        REQUIRE(cpu::diopiDiv(&context, out.get(), x.get(), y.get(), RoundModeTrunc) == diopiSuccess);
        for (size_t i = 0; i < a.size(); ++i) {
            INFO(name(dtype) << ": trunc " << a[i] << " / " << b[i]);
            CHECK(same(values(out)[i], rounded(dtype, truncated[i])));
        }
    }
}

TEST_CASE("floor division of float32 equals the formula with fmod on random numbers", "[cpu][elementwise]") {
    const int64_t n = 20000;
    uint32_t state = 1;
    const auto bits = [&](int64_t) {
        state = state * 1664525u + 1013904223u;
        const auto x = std::bit_cast<float>((state & 0x83ffffffu) | 0x3c000000u);
        return double(x);
    };
    const auto a = generate(Dtype::float32, {n}, bits), b = generate(Dtype::float32, {n}, bits);
    const auto out = blank(Dtype::float32, {n});
    REQUIRE(cpu::diopiDiv(&context, out.get(), a.get(), b.get(), RoundModeFloor) == diopiSuccess);
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; ++i) {
        const float x = a->data_as<float>()[i], y = b->data_as<float>()[i];
        const float rest = std::fmod(x, y);
        float quotient = (x - rest) / y;
        if (rest != 0 && (y < 0) != (rest < 0)) quotient -= 1;
        float wanted = std::floor(quotient);
        if (quotient - wanted > 0.5f) wanted += 1;
        if (quotient == 0) wanted = std::copysign(0.0f, x / y);
        wrong += out->data_as<float>()[i] != wanted;
    }
    CHECK(wrong == 0);
}

TEST_CASE("rounded division of integers", "[cpu][elementwise]") {
    for (const Dtype dtype : {Dtype::int8, Dtype::int16, Dtype::int32, Dtype::int64}) {
        const auto a = tensor(dtype, {6}, {7, -7, 7, -7, 6, -128});
        const auto b = tensor(dtype, {6}, {2, 2, -2, -2, -3, -1});
        const auto out = blank(dtype, {6});
        const double negated = dtype == Dtype::int8 ? -128 : 128;
        REQUIRE(cpu::diopiDiv(&context, out.get(), a.get(), b.get(), RoundModeFloor) == diopiSuccess);
        CHECK(values(out) == Values{3, -4, -4, 3, -2, negated});
        REQUIRE(cpu::diopiDiv(&context, out.get(), a.get(), b.get(), RoundModeTrunc) == diopiSuccess);
        CHECK(values(out) == Values{3, -3, -3, 3, -2, negated});
    }
    const auto least = tensor(Dtype::int64, {1}, {-0x1p63});
    const auto minus = tensor(Dtype::int64, {1}, {-1});
    REQUIRE(cpu::diopiDivInp(&context, least.get(), minus.get(), RoundModeFloor) == diopiSuccess);
    CHECK(values(least)[0] == -0x1p63);
    const auto u = tensor(Dtype::uint64, {1}, {0});
    u->data_as<uint64_t>()[0] = UINT64_MAX;
    const auto ten = tensor(Dtype::uint64, {1}, {10});
    REQUIRE(cpu::diopiDivInp(&context, u.get(), ten.get(), RoundModeTrunc) == diopiSuccess);
    CHECK(u->data_as<uint64_t>()[0] == UINT64_MAX / 10);
}

TEST_CASE("an integer divided by zero is an error, not a crash", "[cpu][elementwise]") {
    const auto a = tensor(Dtype::int32, {2}, {1, 2});
    const auto b = tensor(Dtype::int32, {2}, {1, 0});
    const auto out = blank(Dtype::int32, {2});
    CHECK(cpu::diopiDiv(&context, out.get(), a.get(), b.get(), RoundModeFloor) == diopiErrorOccurred);
    CHECK(last_error().find("ZeroDivisionError") != std::string::npos);
}

TEST_CASE("complex numbers", "[cpu][elementwise]") {
    const Complex p(1, 2), q(3, -4);
    for (const Dtype dtype : {Dtype::complex64, Dtype::complex128, Dtype::complex32}) {
        const auto a = generate(dtype, {2}, [&](int64_t) { return p; });
        const auto b = generate(dtype, {2}, [&](int64_t) { return q; });
        const auto out = blank(dtype, {2});
        const diopiScalar_t two = scalar(2.0);
        REQUIRE(cpu::diopiAdd(&context, out.get(), a.get(), b.get(), &two) == diopiSuccess);
        CHECK(complex_values(out)[1] == Complex(7, -6));
        REQUIRE(cpu::diopiSub(&context, out.get(), a.get(), b.get(), nullptr) == diopiSuccess);
        CHECK(complex_values(out)[1] == Complex(-2, 6));
        REQUIRE(cpu::diopiMul(&context, out.get(), a.get(), b.get()) == diopiSuccess);
        CHECK(complex_values(out)[1] == Complex(11, 2));
        REQUIRE(cpu::diopiDiv(&context, out.get(), a.get(), b.get(), RoundModeNone) == diopiSuccess);
        CHECK(std::abs(complex_values(out)[1] - Complex(-0.2, 0.4)) < 1e-3);
        CHECK(cpu::diopiDiv(&context, out.get(), a.get(), b.get(), RoundModeFloor) == diopiDtypeNotSupported);
    }
    const auto high = generate(Dtype::complex128, {1}, [](int64_t) { return Complex(1.5, 1e308); });
    const auto flat = generate(Dtype::complex128, {1}, [](int64_t) { return Complex(0.75, 5e-324); });
    const auto quotient = blank(Dtype::complex128, {1});
    REQUIRE(cpu::diopiDiv(&context, quotient.get(), high.get(), flat.get(), RoundModeNone) == diopiSuccess);
    CHECK(std::abs(complex_values(quotient)[0] / Complex(2, 1e308 / 0.75) - 1.0) < 1e-15);
    const auto real = tensor(Dtype::float32, {2}, {1, 2});
    const auto z = generate(Dtype::complex64, {2}, [&](int64_t) { return p; });
    const auto out = blank(Dtype::complex64, {2});
    REQUIRE(cpu::diopiMul(&context, out.get(), real.get(), z.get()) == diopiSuccess);
    CHECK(complex_values(out)[1] == Complex(2, 4));
    CHECK(cpu::diopiMul(&context, real.get(), real.get(), z.get()) == diopiDtypeNotSupported);
}

TEST_CASE("large outputs, which bypass the caches, are complete from any address", "[cpu][elementwise]") {
    const int64_t n = (5 << 20) + 13;
    const auto a = generate(Dtype::float32, {n}, small);
    const auto storage = blank(Dtype::float32, {n + 5});
    for (const int64_t offset : {0, 1, 3}) {
        std::memset(storage->storage.memory.get(), 0xff, storage->storage.nbytes);
        const auto out = alias(storage, {n}, {1}, offset);
        REQUIRE(cpu::diopiAdd(&context, out.get(), a.get(), a.get(), nullptr) == diopiSuccess);
        int64_t wrong = 0;
        for (int64_t i = 0; i < n; ++i) wrong += out->data_as<float>()[i] != 2 * a->data_as<float>()[i];
        CHECK(wrong == 0);
        CHECK(std::isnan(storage->data_as<float>()[n + offset]));
        const diopiScalar_t number = scalar(int64_t{offset} + 1);
        REQUIRE(cpu::diopiAddScalar(&context, out.get(), a.get(), &number, nullptr) == diopiSuccess);
        const float x = static_cast<float>(number.ival);
        for (int64_t i = 0; i < n; ++i) wrong += out->data_as<float>()[i] != a->data_as<float>()[i] + x;
        CHECK(wrong == 0);
    }
}

TEST_CASE("contradicting shapes and outs are refused with a message", "[cpu][elementwise]") {
    const auto a = blank(Dtype::float32, {2, 3}), b = blank(Dtype::float32, {4}), c = blank(Dtype::float32, {3});
    CHECK(cpu::diopiAdd(&context, a.get(), a.get(), b.get(), nullptr) == diopiErrorOccurred);
    CHECK(last_error().find("(4,)") != std::string::npos);
    CHECK(cpu::diopiAdd(&context, c.get(), a.get(), c.get(), nullptr) == diopiErrorOccurred);
    CHECK(cpu::diopiAddInp(&context, c.get(), a.get(), nullptr) == diopiErrorOccurred);
    const auto repeated = blank(Dtype::float32, {2, 3}, {0, 1});
    CHECK(cpu::diopiAddInp(&context, repeated.get(), c.get(), nullptr) == diopiErrorOccurred);
    const auto whole = blank(Dtype::int32, {3});
    CHECK(cpu::diopiMul(&context, whole.get(), c.get(), c.get()) == diopiDtypeNotSupported);
    const diopiScalar_t fraction = scalar(0.5), one = scalar(int64_t{1});
    CHECK(cpu::diopiAdd(&context, whole.get(), whole.get(), whole.get(), &fraction) == diopiErrorOccurred);
    CHECK(cpu::diopiAddcdiv(&context, whole.get(), whole.get(), whole.get(), whole.get(), &one) ==
          diopiDtypeNotSupported);
}

TEST_CASE("addcdiv keeps the digits of products below the normal numbers", "[cpu][elementwise]") {
    // One factor computes in float32, the other in float64.
    const double factor = GENERATE(0x1p-16, 3.0);
    const Values b{0x1p-149, 0x1.8p-140, -0x1.234p-120, 0x1p-110, 1.5, kInf, 0, 0},
        c{0x1p-149, 0x1p-130, 0x1p-118, 3, 0x1p-149, 2, 0, -1};
    const int64_t n = int64_t(b.size());
    const auto zero = generate(Dtype::float32, {n}, [](int64_t) { return 0.0; }), y = blank(Dtype::float32, {n});
    const auto x1 = tensor(Dtype::float32, {n}, b), x2 = tensor(Dtype::float32, {n}, c);
    const diopiScalar_t value = scalar(factor);
    REQUIRE(cpu::diopiAddcdiv(&context, y.get(), zero.get(), x1.get(), x2.get(), &value) == diopiSuccess);
    const Values got = values(y);
    for (size_t i = 0; i < b.size(); ++i) {
        const double exact = factor * values(x1)[i] / values(x2)[i], wanted = rounded(Dtype::float32, exact);
        INFO(i << ": " << got[i] << ", wanted " << wanted);
        const bool is_near = std::fabs(got[i] - wanted) <= std::max(std::fabs(wanted) * 0x1p-23, 0x1p-149);
        CHECK((got[i] == wanted || is_near || (std::isnan(got[i]) && std::isnan(wanted))));
    }
}
