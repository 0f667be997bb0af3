#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

/// a (m, k) times b (k, n)
Values row_products(const Values& a, const Values& b, size_t m, size_t k, size_t n) {
    Values c(m * n);
    for (size_t i = 0; i < m; ++i) {
        for (size_t j = 0; j < n; ++j) {
            for (size_t l = 0; l < k; ++l) c[i * n + j] += a[i * k + l] * b[l * n + j];
        }
    }
    return c;
}

struct GatedLayer {
    TensorPtr x, w1, w2, w3;
    size_t tokens, hidden, inter;

    GatedLayer(int64_t t, int64_t h, int64_t i, Dtype dtype)
        : x(random({t, h}, dtype, 1, {2 * h, 2})),
          w1(small({h, i}, dtype, 2)),
          w2(small({i, h}, dtype, 3)),
          w3(small({h, i}, dtype, 4)),
          tokens(size_t(t)),
          hidden(size_t(h)),
          inter(size_t(i)) {}

    /// Sixteenths of the values, so that the sums stay small.
    static TensorPtr small(const Shape& shape, Dtype dtype, uint32_t seed) {
        Values from = values(*random(shape, dtype, seed));
        for (double& v : from) v /= 16;
        return tensor(shape, dtype, from);
    }
    [[nodiscard]] Values gated() const {
        Values gate = row_products(values(*x), values(*w1), tokens, hidden, inter);
        const Values up = row_products(values(*x), values(*w3), tokens, hidden, inter);
        for (size_t i = 0; i < gate.size(); ++i) gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
        return gate;
    }
    [[nodiscard]] Values wanted() const { return row_products(gated(), values(*w2), tokens, inter, hidden); }
    /// The largest sum of the magnitudes of the last products.
    [[nodiscard]] double magnitude() const {
        Values sizes = gated(), weights = values(*w2);
        for (Values* of : {&sizes, &weights}) std::ranges::for_each(*of, [](double& x) { x = std::abs(x); });
        return std::ranges::max(row_products(sizes, weights, tokens, inter, hidden));
    }
    diopiError_t run(diopiTensorHandle_t workspace, int64_t& bytes) const {
        diopiContext ctx(cpu_device());
        return cpu::diopiFusedSiluFfnInp(&ctx, x.get(), w1.get(), w2.get(), w3.get(), workspace, &bytes, 0);
    }
};

}  // namespace

TEST_CASE("the gated feed-forward layer tells the size of its workspace, and runs in one at any address", "[vectors]") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const int64_t tokens = GENERATE(5, 12);
    const GatedLayer layer(tokens, 33, 17, dtype);
    const Values before = values(*layer.x), wanted = layer.wanted();
    const double magnitude = layer.magnitude();
    int64_t bytes = -1;
    REQUIRE(layer.run(nullptr, bytes) == diopiSuccess);
    CHECK(bytes >= 2 * tokens * 17 * (dtype == Dtype::float64 ? 8 : 4));
    CHECK(values(*layer.x) == before);
    const auto memory = unwritten({bytes + 1}, Dtype::uint8);
    const auto unaligned = cpu::testing::alias(memory, {bytes}, {1}, 1);
    const int64_t stated = bytes;
    REQUIRE(layer.run(unaligned.get(), bytes) == diopiSuccess);
    CHECK(bytes == stated);
    // The units for bfloat16 take gated numbers that are rounded to it; a few rows do without them.
    if (dtype == Dtype::bfloat16 && tokens > 8) return check_close(*layer.x, wanted, 1, magnitude * 0x1p-8 / 0x1p-24);
    check_close(*layer.x, wanted, 64);
}

TEST_CASE("the gated feed-forward layer of nothing, and what it refuses", "[vectors]") {
    int64_t bytes = -1;
    const GatedLayer empty(0, 3, 4, Dtype::float32), narrow(2, 3, 0, Dtype::float32), layer(2, 3, 4, Dtype::float32);
    REQUIRE(empty.run(nullptr, bytes) == diopiSuccess);
    CHECK(bytes == 0);
    CHECK(empty.run(nullptr, bytes) == diopiSuccess);
    CHECK(narrow.run(nullptr, bytes) == diopiSuccess);
    CHECK(values(*narrow.x) == Values(6, 0));
    CHECK(layer.run(nullptr, bytes) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("diopiFusedSiluFfnInp: workspace has 0 bytes in a row, wanted"));
    GatedLayer wrong(2, 3, 4, Dtype::float32);
    wrong.w2 = wrong.w1;
    CHECK(wrong.run(nullptr, bytes) == diopiErrorOccurred);
    CHECK(last_error() == "diopiFusedSiluFfnInp: weight2 has shape (3, 4), wanted (4, 3)");
}

TEST_CASE("the product of a group of one rank", "[vectors]") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const bool biased = GENERATE(false, true);
    const auto a = random({5, 33}, dtype, 1), b = random({33, 7}, dtype, 2, {1, 33}), bias = random({7}, dtype, 3);
    const auto out = unwritten({5, 7}, dtype);
    diopiContext ctx(cpu_device());
    const auto run = [&](const char* reduction) {
        return cpu::diopiMatmulAllReduce(&ctx, out.get(), a.get(), b.get(), biased ? bias.get() : nullptr, "world",
                                         reduction, 0, 1);
    };
    REQUIRE(run("sum") == diopiSuccess);
    Values wanted = row_products(values(*a), values(*b), 5, 33, 7);
    const Values added = values(*bias);
    for (size_t i = 0; biased && i < wanted.size(); ++i) wanted[i] += added[i % 7];
    check_close(*out, wanted, 128);
    CHECK(run("max") == diopiErrorOccurred);
    CHECK(last_error() == "diopiMatmulAllReduce: reduce_op is 'max', wanted 'sum'");
    CHECK(run(nullptr) == diopiErrorOccurred);
}
