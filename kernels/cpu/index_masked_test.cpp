#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

TEST_CASE("masked_fill puts the value where the mask is true, for every dtype and strides") {
    const Dtype dtype = GENERATE(Dtype::boolean, Dtype::int8, Dtype::uint8, Dtype::int64, Dtype::float16,
                                 Dtype::bfloat16, Dtype::float32, Dtype::float64, Dtype::complex64);
    const bool strided = GENERATE(false, true), in_place = GENERATE(false, true);
    const Shape shape = {41, 30};
    Values flags(30);
    for (size_t i = 0; i < 30; ++i) flags[i] = i % 3 == 0;
    diopiContext ctx(cpu_device());
    const auto x = random(shape, dtype, 1, strided ? scattered(shape) : Shape{}),
               mask = tensor({30}, Dtype::boolean, flags);
    const Values before = values(*x);
    const auto y = in_place ? x : unwritten(shape, dtype, strided ? scattered(shape) : Shape{});
    const auto value = tensor({}, Dtype::float64, {3.75});
    const double held = dtype == Dtype::boolean ? 1 : is_integer(dtype) ? 3 : 3.75;
    diopiScalar_t number{};
    number.stype = diopi_dtype_float64;
    number.fval = 3.75;
    for (const bool with_tensor : {false, true}) {
        const diopiError_t error =
            in_place      ? with_tensor ? cpu::diopiMaskedFillInp(&ctx, x.get(), mask.get(), value.get())
                                        : cpu::diopiMaskedFillInpScalar(&ctx, x.get(), mask.get(), &number)
                 : with_tensor ? cpu::diopiMaskedFill(&ctx, y.get(), x.get(), mask.get(), value.get())
                          : cpu::diopiMaskedFillScalar(&ctx, y.get(), x.get(), mask.get(), &number);
        REQUIRE(error == diopiSuccess);
        const Values got = values(*y);
        size_t wrong = 0;
        for (size_t i = 0; i < got.size(); ++i) wrong += got[i] != (flags[i % 30] != 0 ? held : before[i]);
        CHECK(wrong == 0);
    }
}

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

TEST_CASE("masked_fill refuses a mask of numbers, a value of several and shapes that do not fit") {
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
