#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

constexpr double kRmsEps = 1e-3;

struct RmsRows {
    Shape shape, normalized, strides;
    size_t size() const { return static_cast<size_t>(numel(normalized)); }
    size_t count() const { return static_cast<size_t>(numel(shape)) / size(); }
    Shape leading() const { return {shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(normalized.size())}; }
};

const RmsRows kRmsRows[] = {{{3, 17}, {17}, {}},
                            {{2, 70, 9}, {9}, scattered({2, 70, 9})},
                            {{300, 130}, {130}, {}},
                            {{2, 3, 4, 5}, {4, 5}, {}},
                            {{4, 1}, {1}, {}}};

/// 1 / sqrt(mean of squares + eps) of each row of n elements.
Values inverse_rms(const Values& x, size_t n) {
    Values r(x.size() / n);
    for (size_t i = 0; i < x.size(); ++i) r[i / n] += x[i] * x[i] / static_cast<double>(n);
    for (double& mean : r) mean = 1 / std::sqrt(mean + kRmsEps);
    return r;
}

Dtype saved_dtype(Dtype dtype) { return is_half(dtype) ? Dtype::float32 : dtype; }

}  // namespace

TEST_CASE("rms norm divides each row, for every dtype, strides and parameters", "[vectors]") {
    const RmsRows& rows = kRmsRows[GENERATE(range(size_t{0}, std::size(kRmsRows)))];
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const bool affine = GENERATE(false, true);
    const auto x = random(rows.shape, dtype, 1, rows.strides), y = unwritten(rows.shape, dtype, rows.strides);
    const auto w = random(rows.normalized, dtype, 2), b = random(rows.normalized, dtype, 3);
    const auto inv_rms = unwritten(rows.leading(), saved_dtype(dtype));
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiRMSNorm(&ctx, y.get(), inv_rms.get(), x.get(), list(rows.normalized), affine ? w.get() : nullptr,
                              affine ? b.get() : nullptr, kRmsEps) == diopiSuccess);
    const size_t n = rows.size();
    Values out = values(*x);
    const Values r = inverse_rms(out, n), ws = values(*w), bs = values(*b);
    for (size_t i = 0; i < out.size(); ++i) out[i] *= r[i / n];
    for (size_t i = 0; affine && i < out.size(); ++i) out[i] = out[i] * ws[i % n] + bs[i % n];
    check_close(*y, out);
    check_close(*inv_rms, r, 32, 32);
}

TEST_CASE("the gradients of rms norm, for every dtype, strides and choice of them", "[vectors]") {
    const RmsRows& rows = kRmsRows[GENERATE(range(size_t{0}, std::size(kRmsRows)))];
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const bool affine = GENERATE(false, true), all = GENERATE(false, true);
    const auto x = random(rows.shape, dtype, 1, rows.strides), g = random(rows.shape, dtype, 4, rows.strides);
    const auto w = random(rows.normalized, dtype, 2), gx = unwritten(rows.shape, dtype, rows.strides);
    const auto gw = unwritten(rows.normalized, dtype), gb = unwritten(rows.normalized, dtype);
    const size_t n = rows.size();
    const Values xs = values(*x), gs = values(*g), ws = values(*w), r = inverse_rms(xs, n);
    const auto inv_rms = tensor(rows.leading(), saved_dtype(dtype), r);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiRMSNormBackward(&ctx, gx.get(), all ? gw.get() : nullptr, all ? gb.get() : nullptr, g.get(),
                                      x.get(), affine ? w.get() : nullptr, nullptr, inv_rms.get(),
                                      list(rows.normalized), kRmsEps) == diopiSuccess);
    Values mean(rows.count()), want(xs.size()), want_w(n), want_b(n);
    const auto h = [&](size_t i) { return gs[i] * (affine ? ws[i % n] : 1); };
    for (size_t i = 0; i < xs.size(); ++i) {
        mean[i / n] += h(i) * xs[i] * r[i / n] / static_cast<double>(n);
        want_w[i % n] += gs[i] * xs[i] * r[i / n];
        want_b[i % n] += gs[i];
    }
    double steepest = 1;
    for (const double s : r) steepest = std::max(steepest, s);
    for (size_t i = 0; i < xs.size(); ++i) want[i] = r[i / n] * (h(i) - xs[i] * r[i / n] * mean[i / n]);
    check_close(*gx, want, 32, 8 * steepest);
    if (!all) return;
    check_close(*gw, want_w, 32, static_cast<double>(rows.count()));
    check_close(*gb, want_b, 32, static_cast<double>(rows.count()));
}

TEST_CASE("rows are normalised in place, alone or after a residual is added", "[vectors]") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const bool biased = GENERATE(false, true);
    const Shape shape = {70, 37};
    const auto x = random(shape, dtype, 1, {74, 2}), residual = random(shape, dtype, 2),
               alone = random(shape, dtype, 1);
    const auto bias = random({37}, dtype, 3), scale = random({37}, dtype, 4);
    const Values s = values(*scale), b = values(*bias);
    Values total = values(*residual), plain = values(*x);
    for (size_t i = 0; i < total.size(); ++i) total[i] += plain[i] + (biased ? b[i % 37] : 0);
    const Values r = inverse_rms(total, 37), r_alone = inverse_rms(plain, 37);
    Values out = total;
    for (size_t i = 0; i < out.size(); ++i) out[i] *= r[i / 37] * s[i % 37];
    for (size_t i = 0; i < plain.size(); ++i) plain[i] *= r_alone[i / 37] * s[i % 37];
    diopiContext ctx(cpu_device());
    const auto eps = static_cast<float>(kRmsEps);
    REQUIRE(cpu::diopiFusedAddRootMeanSquareNormInp(&ctx, x.get(), residual.get(), biased ? bias.get() : nullptr,
                                                    scale.get(), eps) == diopiSuccess);
    check_close(*residual, total);
    check_close(*x, out, 1e4);
    REQUIRE(cpu::diopiRootMeanSquareNormInp(&ctx, alone.get(), scale.get(), eps) == diopiSuccess);
    check_close(*alone, plain, 1e4);
}

TEST_CASE("rms norm of nothing, and what it refuses", "[vectors]") {
    diopiContext ctx(cpu_device());
    const IntList none = {0}, three = {3}, four = {4};
    const auto flat = unwritten({2, 0}, Dtype::float32), empty = unwritten({0, 3}, Dtype::float32);
    const auto per_row = unwritten({2}, Dtype::float32), no_row = unwritten({0}, Dtype::float32);
    const auto gw = unwritten({3}, Dtype::float32), x = unwritten({2, 4}, Dtype::float32);
    REQUIRE(cpu::diopiRMSNorm(&ctx, flat.get(), per_row.get(), flat.get(), list(none), nullptr, nullptr, 0) ==
            diopiSuccess);
    CHECK(std::isnan(values(*per_row)[1]));
    REQUIRE(cpu::diopiRMSNormBackward(&ctx, empty.get(), gw.get(), nullptr, empty.get(), empty.get(), nullptr, nullptr,
                                      no_row.get(), list(three), 0) == diopiSuccess);
    CHECK(values(*gw) == Values(3, 0));
    CHECK(cpu::diopiRMSNorm(&ctx, x.get(), per_row.get(), x.get(), list(three), nullptr, nullptr, 0) ==
          diopiErrorOccurred);
    CHECK(last_error() == "diopiRMSNorm: input has shape (2, 4), wanted one that ends in normalized_shape (3,)");
    CHECK(cpu::diopiRMSNorm(&ctx, x.get(), gw.get(), x.get(), list(four), nullptr, nullptr, 0) == diopiErrorOccurred);
    CHECK(last_error() == "diopiRMSNorm: inv_rms has shape (3,), wanted 2 elements, one for each row");
    CHECK(cpu::diopiRootMeanSquareNormInp(&ctx, per_row.get(), per_row.get(), 0) == diopiErrorOccurred);
    CHECK(last_error() == "diopiRootMeanSquareNormInp: inoutput has shape (2,), wanted (tokens, hidden)");
    CHECK(cpu::diopiRootMeanSquareNormInp(&ctx, x.get(), gw.get(), 0) == diopiErrorOccurred);
    CHECK(last_error() == "diopiRootMeanSquareNormInp: scale has shape (3,), wanted (4,)");
}
