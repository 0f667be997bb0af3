#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

/// a (m, k) times the transpose of b (n, k).
Values product(const Values& a, const Values& b, size_t m, size_t n, size_t k) {
    Values c(m * n);
    for (size_t i = 0; i < m; ++i)
        for (size_t j = 0; j < n; ++j)
            for (size_t l = 0; l < k; ++l) c[i * n + j] += a[i * k + l] * b[j * k + l];
    return c;
}

}  // namespace

TEST_CASE("linear and its gradients of strided tensors are those of contiguous ones") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const Shape x_shape = {3, 7, 33}, w_shape = {19, 33}, y_shape = {3, 7, 19};
    diopiContext ctx(cpu_device());
    std::vector<Values> results[2];
    for (const bool is_strided : {false, true}) {
        const auto strides = [&](const Shape& s) { return is_strided ? scattered(s) : Shape{}; };
        const auto x = random(x_shape, dtype, 1, strides(x_shape)), w = random(w_shape, dtype, 2, strides(w_shape));
        const auto b = random({19}, dtype, 3), g = random(y_shape, dtype, 4, strides(y_shape));
        const auto y = unwritten(y_shape, dtype, strides(y_shape)), gx = unwritten(x_shape, dtype, strides(x_shape));
        const auto gw = unwritten(w_shape, dtype, strides(w_shape)), gb = unwritten({19}, dtype);
        REQUIRE(cpu::diopiLinear(&ctx, y.get(), x.get(), w.get(), b.get()) == diopiSuccess);
        REQUIRE(cpu::diopiLinearBackward(&ctx, gx.get(), gw.get(), gb.get(), g.get(), x.get(), w.get()) ==
                diopiSuccess);
        results[is_strided] = {values(*y), values(*gx), values(*gw), values(*gb)};
    }
    CHECK(results[0] == results[1]);
}

TEST_CASE("linear with a bias that broadcasts, and its gradient") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const auto x = random({4, 6}, dtype, 1), w = random({3, 6}, dtype, 2), y = unwritten({4, 3}, dtype);
    diopiContext ctx(cpu_device());
    const auto column = random({4, 1}, dtype, 3);
    REQUIRE(cpu::diopiLinear(&ctx, y.get(), x.get(), w.get(), column.get()) == diopiSuccess);
    Values expected = product(values(*x), values(*w), 4, 3, 6);
    const Values added = values(*column);
    for (size_t i = 0; i < 12; ++i) expected[i] += added[i / 3];
    check_close(*y, expected);
    const auto g = random({4, 3}, dtype, 5), gb = unwritten({4, 1}, dtype);
    REQUIRE(cpu::diopiLinearBackward(&ctx, nullptr, nullptr, gb.get(), g.get(), x.get(), w.get()) == diopiSuccess);
    Values sums(4);
    for (size_t i = 0; i < 12; ++i) sums[i / 3] += values(*g)[i];
    check_close(*gb, sums);
}

TEST_CASE("linear without a bias sums over more inputs than a block of the product holds") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const auto x = random({7, 700}, dtype, 1), w = random({13, 700}, dtype, 2), y = unwritten({7, 13}, dtype);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiLinear(&ctx, y.get(), x.get(), w.get(), nullptr) == diopiSuccess);
    check_close(*y, product(values(*x), values(*w), 7, 13, 700), 64, 64);
}

TEST_CASE("linear with no rows, no outputs or no inputs") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    diopiContext ctx(cpu_device());
    const auto none = random({0, 8}, dtype, 1), w = random({3, 8}, dtype, 2), y = unwritten({0, 3}, dtype);
    REQUIRE(cpu::diopiLinear(&ctx, y.get(), none.get(), w.get(), nullptr) == diopiSuccess);
    const auto gw = unwritten({3, 8}, dtype), gb = unwritten({3}, dtype), gx = unwritten({0, 8}, dtype);
    REQUIRE(cpu::diopiLinearBackward(&ctx, gx.get(), gw.get(), gb.get(), y.get(), none.get(), w.get()) == diopiSuccess);
    CHECK(values(*gw) == Values(24, 0.0));
    CHECK(values(*gb) == Values(3, 0.0));
    const auto x = random({16, 8}, dtype, 3), w0 = random({0, 8}, dtype, 4), y0 = unwritten({16, 0}, dtype);
    const auto b0 = random({16, 0}, dtype, 5), gx0 = unwritten({16, 8}, dtype);
    REQUIRE(cpu::diopiLinear(&ctx, y0.get(), x.get(), w0.get(), b0.get()) == diopiSuccess);
    REQUIRE(cpu::diopiLinearBackward(&ctx, gx0.get(), w0.get(), b0.get(), y0.get(), x.get(), w0.get()) == diopiSuccess);
    CHECK(values(*gx0) == Values(128, 0.0));
    const auto thin = random({2, 0}, dtype, 6), w1 = random({3, 0}, dtype, 7), b = random({3}, dtype, 8);
    const auto y1 = unwritten({2, 3}, dtype);
    REQUIRE(cpu::diopiLinear(&ctx, y1.get(), thin.get(), w1.get(), b.get()) == diopiSuccess);
    const Values v = values(*b);
    CHECK(values(*y1) == Values{v[0], v[1], v[2], v[0], v[1], v[2]});
}

TEST_CASE("linear refuses a weight of another width") {
    const auto x = random({4, 6}, Dtype::float32, 1), w = random({3, 5}, Dtype::float32, 2);
    const auto y = unwritten({4, 3}, Dtype::float32);
    diopiContext ctx(cpu_device());
    CHECK(cpu::diopiLinear(&ctx, y.get(), x.get(), w.get(), nullptr) == diopiErrorOccurred);
    CHECK(last_error().find("weight has shape (3, 5)") != std::string::npos);
}
