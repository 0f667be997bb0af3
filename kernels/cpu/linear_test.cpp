#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

/// a (m, k) times b (k, n), either given transposed.
Values product(const Values& a, const Values& b, size_t m, size_t n, size_t k, bool a_transposed, bool b_transposed) {
    Values c(m * n);
    for (size_t i = 0; i < m; ++i)
        for (size_t j = 0; j < n; ++j)
            for (size_t l = 0; l < k; ++l)
                c[i * n + j] += a[a_transposed ? l * m + i : i * k + l] * b[b_transposed ? j * k + l : l * n + j];
    return c;
}

}  // namespace

TEST_CASE("linear and its gradients are matrix products, for every dtype and strides") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const bool strided = GENERATE(false, true);
    const auto [lead, in, out] = GENERATE(table<Shape, int64_t, int64_t>(
        {{{2}, 512, 10}, {{3, 7, 5}, 33, 19}, {{}, 8, 3}, {{130}, 300, 27}, {{9}, 3, 1}}));
    const auto strides = [&](const Shape& shape) { return strided ? scattered(shape) : Shape{}; };
    Shape x_shape = lead, y_shape = lead;
    x_shape.push_back(in), y_shape.push_back(out);
    const auto x = random(x_shape, dtype, 1, strides(x_shape)), w = random({out, in}, dtype, 2, strides({out, in}));
    const auto b = random({out}, dtype, 3), g = random(y_shape, dtype, 4, strides(y_shape));
    const auto y = unwritten(y_shape, dtype, strides(y_shape));
    const auto m = static_cast<size_t>(numel(lead)), k = static_cast<size_t>(in), n = static_cast<size_t>(out);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiLinear(&ctx, y.get(), x.get(), w.get(), b.get()) == diopiSuccess);
    Values expected = product(values(*x), values(*w), m, n, k, false, true);
    const Values bias = values(*b), grad = values(*g);
    Values bias_gradient(n);
    for (size_t i = 0; i < m * n; ++i) expected[i] += bias[i % n], bias_gradient[i % n] += grad[i];
    check_close(*y, expected, 64, 64);
    const auto gx = unwritten(x_shape, dtype, strides(x_shape)), gw = unwritten({out, in}, dtype);
    const auto gb = unwritten({out}, dtype);
    REQUIRE(cpu::diopiLinearBackward(&ctx, gx.get(), gw.get(), gb.get(), g.get(), x.get(), w.get()) == diopiSuccess);
    check_close(*gx, product(grad, values(*w), m, k, n, false, false), 64, 16);
    check_close(*gw, product(grad, values(*x), n, k, m, true, false), 64, 64);
    check_close(*gb, bias_gradient, 64, 64);
}

TEST_CASE("linear without a bias, or with one that broadcasts") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const auto x = random({4, 6}, dtype, 1), w = random({3, 6}, dtype, 2), y = unwritten({4, 3}, dtype);
    diopiContext ctx(cpu_device());
    const Values plain = product(values(*x), values(*w), 4, 3, 6, false, true);
    REQUIRE(cpu::diopiLinear(&ctx, y.get(), x.get(), w.get(), nullptr) == diopiSuccess);
    check_close(*y, plain);
    const auto column = random({4, 1}, dtype, 3);
    REQUIRE(cpu::diopiLinear(&ctx, y.get(), x.get(), w.get(), column.get()) == diopiSuccess);
    Values expected = plain;
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
    check_close(*y, product(values(*x), values(*w), 7, 13, 700, false, true), 64, 64);
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
