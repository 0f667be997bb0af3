#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

TEST_CASE("a copy broadcasts, converts and takes any layout, its own memory included") {
    diopiContext ctx(cpu_device());
    const auto row = tensor({3}, Dtype::float32, {1.75, -2.5, 0}), whole = unwritten({2, 3}, Dtype::int32, {1, 2});
    REQUIRE(cpu::diopiCopyInp(&ctx, row.get(), whole.get()) == diopiSuccess);
    CHECK(values(*whole) == Values{1, -2, 0, 1, -2, 0});
    const auto flags = unwritten({3}, Dtype::boolean);
    REQUIRE(cpu::diopiCastDtype(&ctx, flags.get(), row.get()) == diopiSuccess);
    CHECK(values(*flags) == Values{1, 1, 0});
    const auto square = tensor({2, 2}, Dtype::float32, {1, 2, 3, 4});
    auto turned = std::make_shared<Tensor>(*square);
    std::swap(turned->strides[0], turned->strides[1]);
    REQUIRE(cpu::diopiCopyInp(&ctx, turned.get(), square.get()) == diopiSuccess);
    CHECK(values(*square) == Values{1, 3, 2, 4});
    const auto wide = unwritten({2, 3}, Dtype::float32);
    REQUIRE(cpu::diopiExpand(&ctx, wide.get(), row.get()) == diopiSuccess);
    CHECK(values(*wide) == Values{1.75, -2.5, 0, 1.75, -2.5, 0});
}

TEST_CASE("a copy refuses a source that does not broadcast, a cast one of another shape") {
    diopiContext ctx(cpu_device());
    const auto a = unwritten({2, 3}, Dtype::float32), b = unwritten({2}, Dtype::float32);
    CHECK(cpu::diopiCopyInp(&ctx, b.get(), a.get()) == diopiErrorOccurred);
    CHECK(last_error() == "diopiCopyInp: the source has shape (2,), wanted one that broadcasts to (2, 3)");
    CHECK(cpu::diopiCastDtype(&ctx, a.get(), b.get()) == diopiErrorOccurred);
    const int64_t size[] = {4};
    CHECK(cpu::diopiZeros(&ctx, b.get(), {size, 1}) == diopiErrorOccurred);
    CHECK(last_error() == "diopiZeros: out has shape (2,), wanted (4,)");
}

TEST_CASE("where chooses by a condition that broadcasts, addcmul and addcdiv add what is scaled") {
    const Dtype dtype = GENERATE(Dtype::float16, Dtype::float32, Dtype::float64, Dtype::int32);
    diopiContext ctx(cpu_device());
    const auto is = tensor({2, 1}, Dtype::boolean, {1, 0}), y = unwritten({2, 2}, dtype);
    const auto a = tensor({2}, dtype, {1, 2}), b = tensor({2, 2}, dtype, {3, 4, 5, 6});
    REQUIRE(cpu::diopiWhere(&ctx, y.get(), is.get(), a.get(), b.get()) == diopiSuccess);
    CHECK(values(*y) == Values{1, 2, 5, 6});
    diopiScalar_t two{};
    two.stype = diopi_dtype_int64;
    two.ival = 2;
    REQUIRE(cpu::diopiAddcmul(&ctx, y.get(), a.get(), b.get(), a.get(), &two) == diopiSuccess);
    CHECK(values(*y) == Values{7, 18, 11, 26});
    const diopiError_t divided = cpu::diopiAddcdiv(&ctx, y.get(), a.get(), b.get(), a.get(), &two);
    if (dtype == Dtype::int32) {
        CHECK(divided == diopiDtypeNotSupported);
    } else {
        REQUIRE(divided == diopiSuccess);
        CHECK(values(*y) == Values{7, 6, 11, 8});
    }
    REQUIRE(cpu::diopiNeg(&ctx, y.get(), b.get()) == diopiSuccess);
    CHECK(values(*y) == Values{-3, -4, -5, -6});
}
