#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

TEST_CASE("masked_fill keeps infinities and NaN, and lets input broadcast") {
    diopiContext ctx(cpu_device());
    const auto x = tensor({2, 1}, Dtype::float16, {NAN, 2}), mask = tensor({3}, Dtype::boolean, {0, 1, 0});
    const auto y = unwritten({2, 3}, Dtype::float16);
    diopiScalar_t minus{};
    minus.stype = diopi_dtype_float64;
    minus.fval = -INFINITY;
    REQUIRE(cpu::diopiMaskedFillScalar(&ctx, y.get(), x.get(), mask.get(), &minus) == diopiSuccess);
    check_close(*y, {NAN, -INFINITY, NAN, 2, -INFINITY, 2});
}

TEST_CASE("masked_fill refuses a mask of numbers, a value of several elements and shapes that do not fit") {
    diopiContext ctx(cpu_device());
    const auto x = random({2, 3}, Dtype::float32, 1), mask = tensor({3}, Dtype::boolean, {0, 1, 0});
    const auto several = tensor({1}, Dtype::float32, {1}), one = tensor({}, Dtype::float32, {1});
    CHECK(cpu::diopiMaskedFillInp(&ctx, x.get(), x.get(), one.get()) == diopiDtypeNotSupported);
    CHECK(last_error() == "diopiMaskedFillInp: mask is float32, wanted bool");
    CHECK(cpu::diopiMaskedFillInp(&ctx, x.get(), mask.get(), several.get()) == diopiErrorOccurred);
    CHECK(last_error() == "diopiMaskedFillInp: value has shape (1,), wanted (): one number");
    const auto wide = tensor({2}, Dtype::boolean, {0, 1});
    CHECK(cpu::diopiMaskedFillInp(&ctx, x.get(), wide.get(), one.get()) == diopiErrorOccurred);
}
