#include "kernels/cpu/pool.hpp"

#include "kernels/cpu/conv.hpp"
#include "kernels/cpu/images_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

TEST_CASE("cpu: max pools of one, two and three sides agree with the reference, for every dtype and layout") {
    check_max_pools(IMAGE_KERNELS_OF(cpu));
}

TEST_CASE("cpu: adaptive means of one, two and three sides agree with the reference, for every dtype and layout") {
    check_all_adaptive_means(IMAGE_KERNELS_OF(cpu));
}

TEST_CASE("a NaN is the largest element at any place, and a maximum of -inf has an index") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const Shape out{1, 1, 1, 4};
    const IntList two{2}, zero{0}, one{1};
    const auto x =
        tensor({1, 1, 2, 8}, dtype, {kNan, 1, 1, 2, 3, 4, -kInf, -kInf, 5, 6, kNan, 7, 8, kNan, -kInf, -kInf});
    const auto y = unwritten(out, dtype), places = unwritten(out, Dtype::int64);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiMaxPool2dWithIndices(&ctx, y.get(), places.get(), x.get(), list(two), list(two), list(zero),
                                           list(one), false) == diopiSuccess);
    const Values got = values(*y);
    CHECK((std::isnan(got[0]) && std::isnan(got[1]) && std::isnan(got[2])));
    CHECK(got[3] == -kInf);
    CHECK(values(*places) == Values{0, 10, 13, 6});
}

TEST_CASE("max pooling with an index outside of the plane or an output of another size is refused") {
    const auto x = random({1, 4, 4}, Dtype::float32, 1), g = random({1, 2, 2}, Dtype::float32, 2);
    const auto wild = tensor({1, 2, 2}, Dtype::int64, {0, 3, 16, 9});
    const IntList two{2}, none{}, zero{0}, one{1};
    diopiContext ctx(cpu_device());
    CHECK(cpu::diopiMaxPool2dBackward(&ctx, unwritten({1, 4, 4}, Dtype::float32).get(), g.get(), x.get(), list(two),
                                      list(none), list(zero), list(one), false, wild.get()) == diopiErrorOccurred);
    CHECK(cpu::diopiMaxPool2d(&ctx, unwritten({1, 3, 2}, Dtype::float32).get(), x.get(), list(two), list(none),
                              list(zero), list(one), false) == diopiErrorOccurred);
    CHECK(last_error().find("wanted (1, 2, 2)") != std::string::npos);
    const IntList much{2};
    CHECK(cpu::diopiMaxPool2d(&ctx, unwritten({1, 4, 4}, Dtype::float32).get(), x.get(), list(two), list(none),
                              list(much), list(one), false) == diopiErrorOccurred);
    CHECK(cpu::diopiMaxPool2dWithIndices(&ctx, unwritten({1, 2, 2}, Dtype::float32).get(),
                                         unwritten({1, 2, 2}, Dtype::int16).get(), x.get(), list(two), list(none),
                                         list(zero), list(one), false) == diopiDtypeNotSupported);
    CHECK(last_error().find("indices is int16, wanted int64 or int32") != std::string::npos);
}

TEST_CASE("adaptive means into an empty output") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const auto x = random({2, 3, 4, 5}, dtype, 1), y = unwritten({2, 3, 0, 0}, dtype),
               gx = unwritten({2, 3, 4, 5}, dtype);
    const IntList zero{0};
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiAdaptiveAvgPool2d(&ctx, y.get(), x.get(), list(zero)) == diopiSuccess);
    REQUIRE(cpu::diopiAdaptiveAvgPool2dBackward(&ctx, gx.get(), y.get(), x.get()) == diopiSuccess);
    CHECK(values(*gx) == Values(120, 0.0));
}
