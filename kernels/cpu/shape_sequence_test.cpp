#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

diopiError_t arange(const TensorPtr& out, diopiScalar_t start, diopiScalar_t end, diopiScalar_t step) {
    diopiContext ctx(cpu_device());
    return cpu::diopiArange(&ctx, out.get(), &start, &end, &step);
}

diopiScalar_t real(double x) { return cpu::testing::scalar(x); }
diopiScalar_t whole(int64_t x) { return cpu::testing::scalar(x); }

}  // namespace

TEST_CASE("arange writes start + i * step in every dtype and stride") {
    const Dtype dtype = GENERATE(Dtype::int8, Dtype::int32, Dtype::int64, Dtype::float16, Dtype::bfloat16,
                                 Dtype::float32, Dtype::float64);
    const int64_t stride = GENERATE(1, 3), n = GENERATE(0, 1, 60, 2500);
    const auto y = unwritten({n}, dtype, {stride});
    REQUIRE(arange(y, whole(-20), whole(-20 + 2 * n), whole(2)) == diopiSuccess);
    const Values got = values(*y);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t exact = -20 + 2 * i;
        const double held = dtype == Dtype::int8 ? static_cast<int8_t>(exact) : static_cast<double>(exact);
        if (got[size_t(i)] != cpu::testing::rounded(dtype, held)) REQUIRE(got[size_t(i)] == held);
    }
}

TEST_CASE("arange accepts fractions as steps, which integers truncate") {
    const auto y = unwritten({3}, Dtype::float32), z = unwritten({3}, Dtype::int64);
    REQUIRE(arange(y, real(1), real(-0.5), real(-0.625)) == diopiSuccess);
    CHECK(values(*y) == Values{1, 0.375, -0.25});
    REQUIRE(arange(z, cpu::testing::scalar(true), real(7.9), real(2.5)) == diopiSuccess);
    CHECK(values(*z) == Values{1, 3, 5});
}

TEST_CASE("arange on cpu refuses a step that does not lead to end, and an out of another length") {
    const auto y = unwritten({3}, Dtype::float32);
    CHECK(arange(y, whole(0), whole(3), whole(0)) == diopiErrorOccurred);
    CHECK(last_error() == "diopiArange: step is 0.000000, wanted one that leads from start to end");
    CHECK(arange(y, whole(0), whole(3), whole(-1)) == diopiErrorOccurred);
    CHECK(arange(y, real(0), real(NAN), whole(1)) == diopiErrorOccurred);
    CHECK(arange(y, whole(0), whole(4), whole(1)) == diopiErrorOccurred);
    CHECK(arange(unwritten({3, 1}, Dtype::float32), whole(0), whole(3), whole(1)) == diopiErrorOccurred);
    CHECK(arange(unwritten({3}, Dtype::complex64), whole(0), whole(3), whole(1)) == diopiDtypeNotSupported);
}

TEST_CASE("linspace counts from both ends, in tiles and threads") {
    const int64_t n = GENERATE(1, 2, 5, 1024, 3001, 100000);
    const Dtype dtype = GENERATE(Dtype::float32, Dtype::float64, Dtype::int64);
    const auto y = unwritten({n}, dtype);
    const diopiScalar_t start = real(-3), end = real(40);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiLinspace(&ctx, y.get(), &start, &end, n) == diopiSuccess);
    const double step = n > 1 ? 43 / static_cast<double>(n - 1) : 0;
    const Values got = values(*y);
    for (int64_t i = 0; i < n; ++i) {
        const bool is_front = n == 1 || i < n / 2;
        const double exact = is_front ? -3 + step * static_cast<double>(i) : 40 - step * static_cast<double>(n - 1 - i);
        const double held = dtype == Dtype::int64 ? std::trunc(exact) : cpu::testing::rounded(dtype, exact);
        if (got[size_t(i)] != held) REQUIRE(got[size_t(i)] == held);
    }
}
