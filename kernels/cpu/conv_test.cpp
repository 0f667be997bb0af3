#include "kernels/cpu/conv.hpp"

#include "kernels/cpu/images_testing.hpp"
#include "kernels/cpu/pool.hpp"

using namespace diopi;
using namespace diopi::testing;

TEST_CASE("cpu: convolutions of one, two and three sides agree with the reference, for every dtype and layout") {
    check_convolutions(IMAGE_KERNELS_OF(cpu));
}

TEST_CASE("a gradient that is null is not computed") {
    const Shape shape{2, 4, 5, 5}, weight{4, 4, 3, 3};
    const auto x = random(shape, Dtype::float32, 1), w = random(weight, Dtype::float32, 2);
    const auto g = random({2, 4, 3, 3}, Dtype::float32, 3), gw = unwritten(weight, Dtype::float32);
    const auto wanted = unwritten(weight, Dtype::float64);
    const IntList one{1}, none{0};
    diopiContext ctx(cpu_device());
    for (const auto& [run, to] :
         {std::pair{&cpu::convolution_backward, gw}, {&reference::convolution_backward, wanted}}) {
        REQUIRE(run(&ctx, "op", 2, nullptr, to.get(), nullptr, g.get(), x.get(), w.get(), nullptr, list(one),
                    list(none), list(one), 1) == diopiSuccess);
    }
    check_close(*gw, values(*wanted), 64, 16);
}

TEST_CASE("an empty batch has an empty result and gradients of zeros") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const ConvCase s{{0, 6, 5, 10}, {2, 6, 2, 3}};
    const auto x = random(s.input, dtype, 1), w = random(s.weight, dtype, 2), g = random(s.out(), dtype, 3);
    const auto y = unwritten(s.out(), dtype), gx = unwritten(s.input, dtype);
    const auto gw = unwritten(s.weight, dtype), gb = unwritten({2}, dtype);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiConvolution2d(&ctx, y.get(), x.get(), w.get(), nullptr, list(s.stride), list(s.padding),
                                    list(s.dilation), 1) == diopiSuccess);
    REQUIRE(cpu::diopiConvolution2dBackward(&ctx, gx.get(), gw.get(), gb.get(), g.get(), x.get(), w.get(), nullptr,
                                            list(s.stride), list(s.padding), list(s.dilation), 1) == diopiSuccess);
    CHECK(values(*gw) == Values(72, 0.0));
    CHECK(values(*gb) == Values(2, 0.0));
}

TEST_CASE("a convolution of other shapes or dtypes is refused with a message") {
    const auto x = random({1, 4, 5, 5}, Dtype::float32, 1), w = random({2, 3, 2, 2}, Dtype::float32, 2);
    const auto y = unwritten({1, 2, 4, 4}, Dtype::float32);
    const IntList one{1}, none{0};
    diopiContext ctx(cpu_device());
    CHECK(cpu::diopiConvolution2d(&ctx, y.get(), x.get(), w.get(), nullptr, list(one), list(none), list(one), 1) ==
          diopiErrorOccurred);
    CHECK(last_error().find("weight has shape (2, 3, 2, 2)") != std::string::npos);
    const auto whole = unwritten({1, 4, 5, 5}, Dtype::int64);
    CHECK(cpu::diopiConvolution2d(&ctx, y.get(), whole.get(), w.get(), nullptr, list(one), list(none), list(one), 1) ==
          diopiDtypeNotSupported);
}
