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

namespace {

namespace reference = diopi::reference;

/// Compares the cpu backend's results with the reference's, for every dtype and layout. The first argument of pool and
/// backward says which of the two backends to call.
template <class Pool, class Backward>
void check_pool(size_t sides, const Shape& in, const Shape& out, bool is_exact, Pool&& pool, Backward&& backward) {
    for (const Dtype dtype : kFloats) {
        for (const int layout : {0, 1, 2}) {
            INFO(to_string(in) << " to " << to_string(out) << " " << name(dtype) << ", layout " << layout);
            const auto strides = [&](const Shape& shape) { return strides_of(shape, sides, layout); };
            const auto x = random(in, dtype, 1, strides(in)), g = random(out, dtype, 2, strides(out));
            diopiContext ctx(cpu_device());
            const auto f64 = Dtype::float64;
            const auto y = unwritten(out, dtype, strides(out)), gx = unwritten(in, dtype, strides(in));
            const auto places = unwritten(out, Dtype::int64, strides(out));
            const auto wanted_y = unwritten(out, f64), wanted_gx = unwritten(in, f64);
            const auto wanted_places = unwritten(out, Dtype::int64);
            REQUIRE(pool(true, &ctx, y.get(), places.get(), x.get()) == diopiSuccess);
            REQUIRE(pool(false, &ctx, wanted_y.get(), wanted_places.get(), x.get()) == diopiSuccess);
            REQUIRE(backward(true, &ctx, gx.get(), g.get(), x.get(), wanted_places.get()) == diopiSuccess);
            REQUIRE(backward(false, &ctx, wanted_gx.get(), g.get(), x.get(), wanted_places.get()) == diopiSuccess);
            if (is_exact) {
                CHECK(values(*y) == values(*wanted_y));
                CHECK(values(*places) == values(*wanted_places));
            } else {
                check_close(*y, values(*wanted_y));
            }
            check_close(*gx, values(*wanted_gx));
        }
    }
}

struct AvgCase {
    bool count_include_pad;
    int64_t divisor;  ///< 0: none
};

}  // namespace

TEST_CASE("cpu: sliding means of one, two and three sides agree with the reference, for every dtype and layout") {
    for (const PoolCase& s : kPoolCases) {
        if (s.dilation != IntList{1}) continue;
        for (const AvgCase& c : {AvgCase{true, 0}, AvgCase{false, 0}, AvgCase{true, -3}}) {
            const int64_t* divisor = c.divisor == 0 ? nullptr : &c.divisor;
            check_pool(
                s.sides(), s.input, s.out, false,
                [&](bool is_cpu, auto* ctx, auto* y, auto*, auto* x) {
                    return (is_cpu ? &cpu::avg_pool : &reference::avg_pool)(ctx, "op", s.sides(), y, x, list(s.kernel),
                                                                            list(s.stride), list(s.padding),
                                                                            s.ceil_mode, c.count_include_pad, divisor);
                },
                [&](bool is_cpu, auto* ctx, auto* gx, auto* g, auto* x, auto*) {
                    return (is_cpu ? &cpu::avg_pool_backward : &reference::avg_pool_backward)(
                        ctx, "op", s.sides(), gx, g, x, list(s.kernel), list(s.stride), list(s.padding), s.ceil_mode,
                        c.count_include_pad, divisor);
                });
        }
    }
}

TEST_CASE("cpu: adaptive maxima of one, two and three sides agree with the reference, for every dtype and layout") {
    for (const MeanCase& s : kMeanCases) {
        const IntList size(s.out.end() - static_cast<std::ptrdiff_t>(s.sides), s.out.end());
        check_pool(
            s.sides, s.input, s.out, true,
            [&](bool is_cpu, auto* ctx, auto* y, auto* places, auto* x) {
                return (is_cpu ? &cpu::adaptive_max_pool_with_indices : &reference::adaptive_max_pool_with_indices)(
                    ctx, "op", s.sides, y, places, x, list(size));
            },
            [&](bool is_cpu, auto* ctx, auto* gx, auto* g, auto* x, auto* places) {
                return (is_cpu ? &cpu::adaptive_max_pool_backward : &reference::adaptive_max_pool_backward)(
                    ctx, "op", s.sides, gx, g, x, places);
            });
    }
}

TEST_CASE("adaptive maxima: the first of equal elements in row-major order, the last NaN, and -inf have places") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const bool is_last = GENERATE(false, true);
    // Two planes that are equal, so that the channels may be last; three windows of two columns.
    Values x{1, 7, kNan, 2, -kInf, -kInf, 7, 7, 3, kNan, -kInf, -kInf};
    x.insert(x.end(), x.begin(), x.begin() + 12);
    const auto input = random({1, 2, 2, 6}, dtype, 1, is_last ? channels_last({1, 2, 2, 6}) : Shape{});
    diopiContext ctx(cpu_device());
    const auto dense = tensor({1, 2, 2, 6}, dtype, x);
    cpu::copy(cpu::view(dense.get()), cpu::view(input.get()));
    const Shape strides = is_last ? channels_last({1, 2, 1, 3}) : Shape{};
    const auto y = unwritten({1, 2, 1, 3}, dtype, strides), places = unwritten({1, 2, 1, 3}, Dtype::int64, strides);
    const IntList size{1, 3};
    REQUIRE(cpu::diopiAdaptiveMaxPool2dWithIndices(&ctx, y.get(), places.get(), input.get(), list(size)) ==
            diopiSuccess);
    CHECK(values(*places) == Values{1, 9, 4, 1, 9, 4});
    const Values got = values(*y);
    CHECK((got[0] == 7 && std::isnan(got[1]) && got[2] == -kInf));
}

TEST_CASE("pools of a mode are those of the mode's functions, and refuse other modes") {
    const auto x = random({2, 3, 6, 8}, Dtype::float32, 1);
    const IntList three{3}, two{2}, one{1}, zero{0}, none{};
    diopiContext ctx(cpu_device());
    const auto check = [&](const char* mode, bool adaptive, const Shape& shape, auto&& own) {
        const auto y = unwritten(shape, Dtype::float32), wanted = unwritten(shape, Dtype::float32);
        REQUIRE(cpu::diopiPool2d(&ctx, y.get(), x.get(), mode, list(three), list(two), list(one), list(one), false,
                                 true, adaptive, list(two)) == diopiSuccess);
        REQUIRE(own(wanted.get()) == diopiSuccess);
        CHECK(values(*y) == values(*wanted));
    };
    check("max", false, {2, 3, 3, 4}, [&](auto* y) {
        return cpu::diopiMaxPool2d(&ctx, y, x.get(), list(three), list(two), list(one), list(one), false);
    });
    check("avg", false, {2, 3, 3, 4}, [&](auto* y) {
        return cpu::diopiAvgPool2d(&ctx, y, x.get(), list(three), list(two), list(one), false, false, nullptr);
    });
    check("max", true, {2, 3, 2, 2}, [&](auto* y) { return cpu::diopiAdaptiveMaxPool2d(&ctx, y, x.get(), list(two)); });
    check("avg", true, {2, 3, 2, 2}, [&](auto* y) { return cpu::diopiAdaptiveAvgPool2d(&ctx, y, x.get(), list(two)); });
    const auto y = unwritten({2, 3, 3, 4}, Dtype::float32);
    CHECK(cpu::diopiPool2d(&ctx, y.get(), x.get(), "sum", list(three), list(two), list(one), list(one), false, true,
                           false, list(none)) == diopiErrorOccurred);
    CHECK(last_error() == "diopiPool2d: mode is 'sum', wanted max or avg");
    const int64_t nothing = 0;
    CHECK(cpu::diopiAvgPool2d(&ctx, y.get(), x.get(), list(three), list(two), list(one), false, false, &nothing) ==
          diopiErrorOccurred);
    CHECK(last_error() == "diopiAvgPool2d: divisor_override is 0, wanted another number");
}

TEST_CASE("the gradient of maxima without indices finds the places again") {
    const bool adaptive = GENERATE(false, true);
    const Shape out = adaptive ? Shape{2, 3, 2, 2} : Shape{2, 3, 3, 4};
    const auto x = random({2, 3, 6, 8}, Dtype::float32, 1), g = random(out, Dtype::float32, 2);
    const auto y = unwritten(out, Dtype::float32), places = unwritten(out, Dtype::int64);
    const auto gx = unwritten({2, 3, 6, 8}, Dtype::float32), wanted = unwritten({2, 3, 6, 8}, Dtype::float32);
    const IntList three{3}, two{2}, one{1};
    diopiContext ctx(cpu_device());
    const auto pool = [&] {
        return adaptive ? cpu::diopiAdaptiveMaxPool2dWithIndices(&ctx, y.get(), places.get(), x.get(), list(two))
                        : cpu::diopiMaxPool2dWithIndices(&ctx, y.get(), places.get(), x.get(), list(three), list(two),
                                                         list(one), list(one), false);
    };
    const auto backward = [&](const TensorPtr& to, diopiConstTensorHandle_t indices) {
        return cpu::diopiPool2dBackward(&ctx, to.get(), g.get(), x.get(), "max", list(three), list(two), list(one),
                                        list(one), false, false, adaptive, indices);
    };
    REQUIRE(pool() == diopiSuccess);
    REQUIRE(backward(wanted, places.get()) == diopiSuccess);
    REQUIRE(backward(gx, nullptr) == diopiSuccess);
    CHECK(values(*gx) == values(*wanted));
}

TEST_CASE("gradients of maxima at one place are added up before they are rounded, others keep their bits") {
    const auto [dtype, digits] = GENERATE(table<Dtype, int>({{Dtype::bfloat16, 7}, {Dtype::float16, 10}}));
    const bool are_wide = GENERATE(false, true), are_last = GENERATE(false, true);
    INFO(name(dtype) << (are_wide ? ", gradients of float32" : "") << (are_last ? ", channels last" : ""));
    // Two of `part` added up first are rounded up to a step; one after the other they are lost, also where the half
    // type does not hold the first sum.
    const double step = std::ldexp(1.0, -digits), part = step * 3 / 8;
    const Shape in{1, 2, 4, 4}, out{1, 2, 2, 2};
    const Shape in_strides = are_last ? channels_last(in) : Shape{};
    const Shape out_strides = are_last ? channels_last(out) : Shape{};
    const double first = are_wide ? 1 + part : 1.0, second = are_wide ? 0.0 : part;
    const auto g =
        tensor(out, are_wide ? Dtype::float32 : dtype, {first, second, 0, part, 1 + step, 2, -3, -0.0}, out_strides);
    const auto places = tensor(out, Dtype::int64, {5, 5, 5, 5, 0, 3, 9, 15}, out_strides);
    const auto x = random(in, dtype, 1), gx = unwritten(in, dtype, in_strides);
    const IntList two{2}, zero{0}, one{1};
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiMaxPool2dBackward(&ctx, gx.get(), g.get(), x.get(), list(two), list(two), list(zero), list(one),
                                        false, places.get()) == diopiSuccess);
    Values wanted(32, 0.0);
    wanted[5] = 1 + step;
    wanted[16] = 1 + step, wanted[19] = 2, wanted[25] = -3;
    CHECK(values(*gx) == wanted);
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
