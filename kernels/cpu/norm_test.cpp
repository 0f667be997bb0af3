#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

constexpr double kBatchEps = 1e-3;

/// Sums over a channel of row-major values (N, C, inner).
struct Channels {
    size_t count, channels, inner;
    explicit Channels(const Shape& s) : count(size_t(s[0])), channels(size_t(s[1])), inner(1) {
        for (size_t d = 2; d < s.size(); ++d) inner *= static_cast<size_t>(s[d]);
    }
    size_t of(size_t i) const { return i / inner % channels; }
    double per_channel() const { return static_cast<double>(count * inner); }
    template <class Term>
    Values sums(Term&& term) const {
        Values out(channels);
        for (size_t i = 0; i < count * channels * inner; ++i) out[of(i)] += term(i);
        return out;
    }
};

struct Statistics {
    Values mean, variance;
};

Statistics statistics(const Channels& c, const Values& x) {
    Statistics s{c.sums([&](size_t i) { return x[i]; }), {}};
    for (double& m : s.mean) m /= c.per_channel();
    s.variance = c.sums([&](size_t i) { return (x[i] - s.mean[c.of(i)]) * (x[i] - s.mean[c.of(i)]); });
    for (double& v : s.variance) v /= c.per_channel();
    return s;
}

struct Layouted {
    Shape shape, strides;
};

const Layouted kInputs[] = {{{5, 3, 4, 7}, {}},       {{5, 70, 4, 7}, {1960, 1, 490, 70}},
                            {{2, 5, 3, 2, 9}, {}},    {{2, 5, 3, 2, 9}, {270, 1, 90, 45, 5}},
                            {{6, 5, 8}, {1, 100, 7}}, {{300, 9}, {}},
                            {{4, 9}, {20, 2}}};

}  // namespace

TEST_CASE("batch norm in training normalises with the statistics of the batch and moves the running ones",
          "[vectors]") {
    const auto& [shape, strides] = kInputs[GENERATE(range(size_t{0}, std::size(kInputs)))];
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const bool mixed = GENERATE(false, true);
    const Dtype parameters = mixed && is_half(dtype) ? Dtype::float32 : dtype;
    const Channels c(shape);
    const auto n = static_cast<int64_t>(c.channels);
    const auto x = random(shape, dtype, 1, strides), g = random(shape, dtype, 2, strides);
    const auto w = random({n}, parameters, 3), b = random({n}, parameters, 4);
    const auto running_mean = random({n}, parameters, 5, {4}), running_var = random({n}, parameters, 6);
    const Values old_mean = values(*running_mean), old_var = values(*running_var), xs = values(*x), ws = values(*w);
    const auto y = unwritten(shape, dtype, strides), mean = unwritten({n}, parameters),
               inv = unwritten({n}, parameters);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiBatchNorm(&ctx, y.get(), mean.get(), inv.get(), x.get(), w.get(), b.get(), running_mean.get(),
                                running_var.get(), true, 0.25, kBatchEps) == diopiSuccess);
    const Statistics s = statistics(c, xs);
    Values invstd(c.channels), moved_mean(c.channels), moved_var(c.channels), out(xs.size());
    const double m = c.per_channel();
    for (size_t k = 0; k < c.channels; ++k) {
        invstd[k] = 1 / std::sqrt(s.variance[k] + kBatchEps);
        moved_mean[k] = 0.75 * old_mean[k] + 0.25 * s.mean[k];
        moved_var[k] = 0.75 * old_var[k] + 0.25 * s.variance[k] * m / (m - 1);
    }
    for (size_t i = 0; i < xs.size(); ++i) {
        out[i] = (xs[i] - s.mean[c.of(i)]) * invstd[c.of(i)] * ws[c.of(i)] + values(*b)[c.of(i)];
    }
    check_close(*y, out);
    check_close(*mean, s.mean);
    check_close(*inv, invstd);
    check_close(*running_mean, moved_mean);
    check_close(*running_var, moved_var);
}

TEST_CASE("the gradient of batch norm in training sees the statistics move", "[vectors]") {
    const auto& [shape, strides] = kInputs[GENERATE(range(size_t{0}, std::size(kInputs)))];
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const bool saved = GENERATE(true, false);
    const Channels c(shape);
    const auto n = static_cast<int64_t>(c.channels);
    const auto x = random(shape, dtype, 1, strides), g = random(shape, dtype, 2, strides);
    const auto w = random({n}, dtype, 3);
    const Values xs = values(*x), gs = values(*g), ws = values(*w);
    const Statistics s = statistics(c, xs);
    Values invstd(c.channels);
    for (size_t k = 0; k < c.channels; ++k) invstd[k] = 1 / std::sqrt(s.variance[k] + kBatchEps);
    const auto mean = tensor({n}, Dtype::float64, s.mean), inv = tensor({n}, Dtype::float64, invstd);
    const auto gx = unwritten(shape, dtype, strides), gw = unwritten({n}, dtype), gb = unwritten({n}, dtype);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiBatchNormBackward(&ctx, gx.get(), gw.get(), gb.get(), g.get(), x.get(), w.get(), nullptr, nullptr,
                                        saved ? mean.get() : nullptr, saved ? inv.get() : nullptr, true,
                                        kBatchEps) == diopiSuccess);
    const auto hat = [&](size_t i) { return (xs[i] - s.mean[c.of(i)]) * invstd[c.of(i)]; };
    const Values grad_bias = c.sums([&](size_t i) { return gs[i]; });
    const Values grad_weight = c.sums([&](size_t i) { return gs[i] * hat(i); });
    Values grad(xs.size());
    for (size_t i = 0; i < xs.size(); ++i) {
        const size_t k = c.of(i);
        grad[i] =
            ws[k] * invstd[k] * (gs[i] - grad_bias[k] / c.per_channel() - hat(i) * grad_weight[k] / c.per_channel());
    }
    check_close(*gx, grad, 64);
    check_close(*gw, grad_weight, 64, 64);
    check_close(*gb, grad_bias, 64, 64);
}

TEST_CASE("batch norm in evaluation uses the running statistics, forward and backward", "[vectors]") {
    const auto& [shape, strides] = kInputs[GENERATE(range(size_t{0}, std::size(kInputs)))];
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const Channels c(shape);
    const auto n = static_cast<int64_t>(c.channels);
    const auto x = random(shape, dtype, 1, strides), g = random(shape, dtype, 2, strides), w = random({n}, dtype, 3);
    const auto mean = random({n}, dtype, 5);
    Values variances = values(*random({n}, dtype, 6));
    for (double& v : variances) v = std::abs(v) + 0.25;
    const auto variance = tensor({n}, dtype, variances);
    const Values xs = values(*x), gs = values(*g), ws = values(*w), ms = values(*mean), vs = values(*variance);
    const auto y = unwritten(shape, dtype, strides), none = unwritten({0}, dtype);
    const auto gx = unwritten(shape, dtype), gw = unwritten({n}, dtype), gb = unwritten({n}, dtype);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiBatchNorm(&ctx, y.get(), none.get(), none.get(), x.get(), w.get(), nullptr, mean.get(),
                                variance.get(), false, 0.1, kBatchEps) == diopiSuccess);
    REQUIRE(cpu::diopiBatchNormBackward(&ctx, gx.get(), gw.get(), gb.get(), g.get(), x.get(), w.get(), mean.get(),
                                        variance.get(), nullptr, nullptr, false, kBatchEps) == diopiSuccess);
    const auto inv = [&](size_t i) { return 1 / std::sqrt(vs[c.of(i)] + kBatchEps); };
    Values out(xs.size()), grad(xs.size());
    for (size_t i = 0; i < xs.size(); ++i) {
        out[i] = (xs[i] - ms[c.of(i)]) * inv(i) * ws[c.of(i)];
        grad[i] = gs[i] * inv(i) * ws[c.of(i)];
    }
    check_close(*y, out);
    check_close(*gx, grad);
    check_close(*gw, c.sums([&](size_t i) { return gs[i] * (xs[i] - ms[c.of(i)]) * inv(i); }), 64, 128);
    check_close(*gb, c.sums([&](size_t i) { return gs[i]; }), 64, 64);
    CHECK(values(*mean) == ms);
    const auto kept_mean = unwritten({n}, dtype), kept_inv = unwritten({n}, dtype);
    REQUIRE(cpu::diopiBatchNorm(&ctx, y.get(), kept_mean.get(), kept_inv.get(), x.get(), w.get(), nullptr, mean.get(),
                                variance.get(), false, 0.1, kBatchEps) == diopiSuccess);
    check_close(*kept_mean, ms);
}

TEST_CASE("batch norm keeps the variance of values far from zero", "[vectors]") {
    const auto x = tensor({4, 1}, Dtype::float32, {10000.0, 10001.0, 10002.0, 10003.0}),
               y = unwritten({4, 1}, Dtype::float32);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiBatchNorm(&ctx, y.get(), nullptr, nullptr, x.get(), nullptr, nullptr, nullptr, nullptr, true, 0.1,
                                0.0) == diopiSuccess);
    const double unit = 1 / std::sqrt(1.25);
    check_close(*y, {-1.5 * unit, -0.5 * unit, 0.5 * unit, 1.5 * unit});
}

TEST_CASE("batch norm in training without running statistics, with one value a channel, or none", "[vectors]") {
    const auto x = random({1, 3}, Dtype::float32, 1), y = unwritten({1, 3}, Dtype::float32);
    const auto var = random({3}, Dtype::float32, 2);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiBatchNorm(&ctx, y.get(), nullptr, nullptr, x.get(), nullptr, nullptr, nullptr, var.get(), true,
                                0.1, 1e-5) == diopiSuccess);
    CHECK(values(*y) == Values(3, 0.0));
    CHECK(std::isnan(values(*var)[0]));
    const auto none = random({0, 3, 4}, Dtype::float32, 1), mean = random({3}, Dtype::float32, 3);
    const Values before = values(*mean);
    const auto gw = unwritten({3}, Dtype::float32);
    REQUIRE(cpu::diopiBatchNorm(&ctx, none.get(), nullptr, nullptr, none.get(), nullptr, nullptr, mean.get(), nullptr,
                                true, 0.1, 1e-5) == diopiSuccess);
    REQUIRE(cpu::diopiBatchNormBackward(&ctx, nullptr, gw.get(), nullptr, none.get(), none.get(), nullptr, nullptr,
                                        nullptr, nullptr, nullptr, true, 1e-5) == diopiSuccess);
    CHECK(values(*mean) == before);
    CHECK(values(*gw) == Values(3, 0.0));
}

TEST_CASE("a channel without variance and without eps is its bias, as in PyTorch", "[vectors]") {
    const auto x = tensor({4, 1}, Dtype::float32, {2, 2, 2, 2}), y = unwritten({4, 1}, Dtype::float32);
    const auto bias = tensor({1}, Dtype::float32, {3}), invstd = unwritten({1}, Dtype::float32);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiBatchNorm(&ctx, y.get(), nullptr, invstd.get(), x.get(), nullptr, bias.get(), nullptr, nullptr,
                                true, 0.1, 0.0) == diopiSuccess);
    CHECK(values(*y) == Values(4, 3.0));
    CHECK(values(*invstd) == Values{0});
}

TEST_CASE("batch norm in evaluation without running statistics is refused", "[vectors]") {
    const auto x = random({2, 3}, Dtype::float32, 1);
    diopiContext ctx(cpu_device());
    CHECK(cpu::diopiBatchNorm(&ctx, x.get(), nullptr, nullptr, x.get(), nullptr, nullptr, nullptr, nullptr, false, 0.1,
                              1e-5) == diopiErrorOccurred);
    CHECK(last_error().find("running_mean") != std::string::npos);
}
