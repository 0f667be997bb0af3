#include <catch2/catch.hpp>
#include <limits>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/testing.hpp"

using namespace diopi;
using namespace diopi::cpu::testing;

TEST_CASE("relu of every real dtype at tile edges", "[cpu][activation]") {
    for (const Dtype dtype : {Dtype::int8, Dtype::uint8, Dtype::int16, Dtype::int32, Dtype::int64, Dtype::float16,
                              Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
        for (const int64_t n : {0, 1, 1023, 1024, 1025}) {
            const auto x = generate(dtype, {n}, [](int64_t i) { return double(i % 7) - 3; });
            const auto out = blank(dtype, {n});
            REQUIRE(cpu::diopiRelu(&context, out.get(), x.get()) == diopiSuccess);
            Values wanted;
            for (const double v : values(x)) wanted.push_back(v < 0 ? 0 : v);
            INFO(name(dtype) << " n " << n);
            CHECK(same(values(out), wanted));
            REQUIRE(cpu::diopiReluInp(&context, x.get()) == diopiSuccess);
            CHECK(same(values(x), wanted));
        }
    }
}

TEST_CASE("relu keeps NaN, the infinity and the smallest numbers", "[cpu][activation]") {
    const double inf = std::numeric_limits<double>::infinity();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
        const auto x = tensor(dtype, {8}, {nan, -nan, inf, -inf, 0x1p-24, -0x1p-24, 1, -1});
        REQUIRE(cpu::diopiReluInp(&context, x.get()) == diopiSuccess);
        INFO(name(dtype));
        CHECK(same(values(x), Values{nan, nan, inf, 0, 0x1p-24, 0, 1, 0}));
    }
}

TEST_CASE("relu of strided tensors", "[cpu][activation]") {
    const auto x = generate(Dtype::float32, {64, 30, 40}, [](int64_t i) { return double(i % 5) - 2; }, {900, 30, 1});
    const auto transposed = generate(Dtype::float16, {30, 40}, [](int64_t i) { return double(i % 5) - 2; }, {1, 30});
    const auto out = blank(Dtype::float16, {30, 40});
    REQUIRE(cpu::diopiRelu(&context, out.get(), transposed.get()) == diopiSuccess);
    Values wanted;
    for (const double v : values(transposed)) wanted.push_back(std::max(v, 0.0));
    CHECK(same(values(out), wanted));
    // The rows of x overlap each other, which only a call out of place supports.
    const auto dense = blank(Dtype::float32, {64, 30, 40});
    wanted.clear();
    for (const double v : values(x)) wanted.push_back(std::max(v, 0.0));
    REQUIRE(cpu::diopiRelu(&context, dense.get(), x.get()) == diopiSuccess);
    CHECK(same(values(dense), wanted));
}

TEST_CASE("relu refuses dtypes without an order, and shapes that differ", "[cpu][activation]") {
    const auto z = blank(Dtype::complex64, {2}), b = blank(Dtype::boolean, {2}), x = blank(Dtype::float32, {3});
    CHECK(cpu::diopiReluInp(&context, z.get()) == diopiDtypeNotSupported);
    CHECK(last_error().find("complex64") != std::string::npos);
    CHECK(cpu::diopiReluInp(&context, b.get()) == diopiDtypeNotSupported);
    CHECK(cpu::diopiRelu(&context, blank(Dtype::float32, {1, 3}).get(), x.get()) == diopiErrorOccurred);
}
