#include "kernels/cpu/bfloat16_units.hpp"

#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

TensorPtr bfloat16s(const Shape& shape, const Values& from, const Shape& strides = {}) {
    return tensor(shape, Dtype::bfloat16, from, strides);
}

int least(const TensorPtr& t) { return cpu::least_magnitude(cpu::view(t.get())); }

bool suit(const TensorPtr& a, const TensorPtr& b) {
    return cpu::suit_bfloat16_units(cpu::view(a.get()), cpu::view(b.get()));
}

}  // namespace

TEST_CASE("the least magnitude of bfloat16 numbers skips zeros, and does not see signs") {
    CHECK(least(bfloat16s({4}, {0, -1, 2, -0.0})) == 0x3f80);
    CHECK(least(bfloat16s({2}, {0, 0})) == 0x7fff);
    CHECK(least(bfloat16s({0}, {})) == 0x7fff);
    CHECK(least(bfloat16s({2}, {kInf, -0x1p-133})) == 1);
    CHECK(least(bfloat16s({2, 3}, {8, 8, 8, 8, 8, -4}, {5, 2})) == 0x4080);
    // Longer than a part of one thread, the smallest number last.
    Values many(1 << 20, 3.0);
    many.back() = 1.5;
    CHECK(least(bfloat16s({1 << 20}, many)) == 0x3fc0);
}

TEST_CASE("the units get bfloat16 numbers whose sums of products are no denormals") {
    const auto one = bfloat16s({1}, {1}), small = bfloat16s({1}, {0x1p-56}), denormal = bfloat16s({1}, {0x1p-130});
    const auto smaller = bfloat16s({1}, {0x1p-57}), none = bfloat16s({1}, {0});
    if (!cpu::has_bfloat16_units()) {
        CHECK_FALSE(suit(one, one));
        return;
    }
    CHECK(suit(one, one));
    CHECK(suit(none, small));
    CHECK(suit(small, small));
    CHECK_FALSE(suit(small, smaller));
    CHECK_FALSE(suit(denormal, one));
    CHECK_FALSE(suit(one, denormal));
    CHECK_FALSE(suit(one, tensor({1}, Dtype::float16, {1})));
    const auto with = [&](double addend) {
        const auto t = bfloat16s({1}, {addend});
        return cpu::suit_bfloat16_units(cpu::view(one.get()), cpu::view(one.get()), {cpu::view(t.get())});
    };
    CHECK(with(0x1p-119));
    CHECK_FALSE(with(0x1p-120));
}

TEST_CASE("products of bfloat16 denormals, and denormal results, are not lost") {
    const auto a = bfloat16s({1, 2}, {0x1p-130, 1}), b = bfloat16s({2, 1}, {0x1p100, 0});
    const auto y = unwritten({1, 1}, Dtype::bfloat16);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiMm(&ctx, y.get(), a.get(), b.get()) == diopiSuccess);
    CHECK(values(*y) == Values{0x1p-30});
    const auto c = bfloat16s({1, 1}, {0x1p-65});
    REQUIRE(cpu::diopiMm(&ctx, y.get(), c.get(), c.get()) == diopiSuccess);
    CHECK(values(*y) == Values{0x1p-130});
    const auto row = bfloat16s({1, 1}, {0}), bias = bfloat16s({1}, {0x1p-130});
    REQUIRE(cpu::diopiLinear(&ctx, y.get(), row.get(), row.get(), bias.get()) == diopiSuccess);
    CHECK(values(*y) == Values{0x1p-130});
}

TEST_CASE("sums of bfloat16 products are rounded once") {
    // 257 and 256 + 1/2 + ... are no bfloat16 numbers: a sum that was rounded before the last term would stay 256.
    const auto a = bfloat16s({1, 2}, {256, 1}), b = bfloat16s({2, 1}, {1, 1}), one = bfloat16s({1}, {1});
    const auto y = unwritten({1, 1}, Dtype::bfloat16);
    diopiContext ctx(cpu_device());
    const diopiScalar_t factor{.stype = diopi_dtype_float64, .fval = 1};
    const auto matrix = bfloat16s({1, 1}, {1});
    REQUIRE(cpu::diopiAddmm(&ctx, y.get(), matrix.get(), a.get(), b.get(), &factor, &factor) == diopiSuccess);
    CHECK(values(*y) == Values{258});
    const auto weight = bfloat16s({1, 2}, {1, 1});
    REQUIRE(cpu::diopiLinear(&ctx, y.get(), a.get(), weight.get(), one.get()) == diopiSuccess);
    CHECK(values(*y) == Values{258});
    // The gradient of a factor that broadcasts is a sum of products: 256 + 1 + 1.
    const auto x = bfloat16s({3, 1, 1}, {256, 1, 1}), ones = bfloat16s({3, 1, 1}, {1, 1, 1});
    const auto shared = bfloat16s({1, 1}, {1}), grad = unwritten({1, 1}, Dtype::bfloat16);
    REQUIRE(cpu::diopiMatmulBackward(&ctx, nullptr, grad.get(), ones.get(), x.get(), shared.get()) == diopiSuccess);
    CHECK(values(*grad) == Values{258});
    // (3, 1, 2, 1, 1) by (2, 1, 1): a matrix of the gradient is a sum over the first dimension.
    const auto wide = bfloat16s({3, 2, 1, 1}, {256, 128, 1, 1, 1, 1}), two = bfloat16s({2, 1, 1}, {1, 1});
    const auto given = bfloat16s({3, 2, 1, 1}, Values(6, 1.0)), sums = unwritten({2, 1, 1}, Dtype::bfloat16);
    REQUIRE(cpu::diopiMatmulBackward(&ctx, nullptr, sums.get(), given.get(), wide.get(), two.get()) == diopiSuccess);
    CHECK(values(*sums) == Values{258, 130});
}
