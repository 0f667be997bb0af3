#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

constexpr double kEps = 1e-3;

struct Rows {
    Shape shape, normalized, strides;
    size_t size() const { return static_cast<size_t>(numel(normalized)); }
    size_t count() const { return static_cast<size_t>(numel(shape)) / size(); }
    Shape leading() const { return {shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(normalized.size())}; }
};

const Rows kRows[] = {{{3, 17}, {17}, {}},     {{2, 70, 9}, {9}, scattered({2, 70, 9})},
                      {{300, 130}, {130}, {}}, {{2, 3, 4, 5}, {4, 5}, {}},
                      {{33}, {33}, {2}},       {{4, 1}, {1}, {}}};

struct NormalizedRows {
    Values mean, invstd, xhat;

    NormalizedRows(const Rows& rows, const Values& x) : mean(rows.count()), invstd(rows.count()), xhat(x.size()) {
        const auto n = static_cast<double>(rows.size());
        Values squares(rows.count());
        for (size_t i = 0; i < x.size(); ++i) mean[i / rows.size()] += x[i] / n;
        for (size_t i = 0; i < x.size(); ++i) squares[i / rows.size()] += std::pow(x[i] - mean[i / rows.size()], 2) / n;
        for (size_t r = 0; r < rows.count(); ++r) invstd[r] = 1 / std::sqrt(squares[r] + kEps);
        for (size_t i = 0; i < x.size(); ++i) xhat[i] = (x[i] - mean[i / rows.size()]) * invstd[i / rows.size()];
    }
};

}  // namespace

TEST_CASE("layer norm normalises each row, for every dtype, strides and parameters", "[vectors]") {
    const Rows& rows = kRows[GENERATE(range(size_t{0}, std::size(kRows)))];
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const bool affine = GENERATE(false, true);
    const Dtype saved = is_half(dtype) ? Dtype::float32 : dtype;
    const auto x = random(rows.shape, dtype, 1, rows.strides), y = unwritten(rows.shape, dtype, rows.strides);
    const auto w = random(rows.normalized, dtype, 2), b = random(rows.normalized, dtype, 3);
    const auto mean = unwritten(rows.leading(), saved), invstd = unwritten(rows.leading(), saved);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiLayerNorm(&ctx, y.get(), mean.get(), invstd.get(), x.get(), affine ? w.get() : nullptr,
                                affine ? b.get() : nullptr, list(rows.normalized), kEps) == diopiSuccess);
    const NormalizedRows e(rows, values(*x));
    Values out = e.xhat;
    const Values ws = values(*w), bs = values(*b);
    for (size_t i = 0; affine && i < out.size(); ++i) out[i] = out[i] * ws[i % rows.size()] + bs[i % rows.size()];
    check_close(*y, out);
    check_close(*mean, e.mean);
    check_close(*invstd, e.invstd, 32, 32);
}

TEST_CASE("the gradients of layer norm, for every dtype, strides and choice of them", "[vectors]") {
    const Rows& rows = kRows[GENERATE(range(size_t{0}, std::size(kRows)))];
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const bool affine = GENERATE(false, true), all = GENERATE(false, true);
    const Dtype saved = is_half(dtype) ? Dtype::float32 : dtype;
    const auto x = random(rows.shape, dtype, 1, rows.strides), g = random(rows.shape, dtype, 4, rows.strides);
    const auto w = random(rows.normalized, dtype, 2), gx = unwritten(rows.shape, dtype, rows.strides);
    const auto gw = unwritten(rows.normalized, dtype), gb = unwritten(rows.normalized, dtype);
    const NormalizedRows e(rows, values(*x));
    const auto mean = tensor(rows.leading(), saved, e.mean), rstd = tensor(rows.leading(), saved, e.invstd);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiLayerNormBackward(&ctx, gx.get(), all ? gw.get() : nullptr, all ? gb.get() : nullptr, g.get(),
                                        x.get(), affine ? w.get() : nullptr, nullptr, mean.get(), rstd.get(),
                                        list(rows.normalized)) == diopiSuccess);
    const Values gs = values(*g), ws = values(*w);
    const size_t n = rows.size();
    Values h(gs), want(gs.size()), mean_h(rows.count()), mean_hx(rows.count()), want_w(n), want_b(n);
    for (size_t i = 0; affine && i < h.size(); ++i) h[i] *= ws[i % n];
    for (size_t i = 0; i < h.size(); ++i) {
        mean_h[i / n] += h[i] / double(n);
        mean_hx[i / n] += h[i] * e.xhat[i] / double(n);
        want_w[i % n] += gs[i] * e.xhat[i];
        want_b[i % n] += gs[i];
    }
    double steepest = 1;
    for (const double s : e.invstd) steepest = std::max(steepest, s);
    for (size_t i = 0; i < h.size(); ++i) {
        want[i] = e.invstd[i / n] * (h[i] - mean_h[i / n] - e.xhat[i] * mean_hx[i / n]);
    }
    check_close(*gx, want, 32, 8 * steepest);
    if (!all) return;
    check_close(*gw, want_w, 32, static_cast<double>(rows.count()));
    check_close(*gb, want_b, 32, static_cast<double>(rows.count()));
}

TEST_CASE("layer norm of nothing, and what it refuses", "[vectors]") {
    diopiContext ctx(cpu_device());
    const IntList three = {3}, none = {0};
    const auto empty = unwritten({0, 3}, Dtype::float32), flat = unwritten({2, 0}, Dtype::float32);
    const auto per_row = unwritten({2}, Dtype::float32), gw = unwritten({3}, Dtype::float32);
    CHECK(cpu::diopiLayerNorm(&ctx, empty.get(), nullptr, nullptr, empty.get(), nullptr, nullptr, list(three), 0) ==
          diopiSuccess);
    REQUIRE(cpu::diopiLayerNorm(&ctx, flat.get(), per_row.get(), nullptr, flat.get(), nullptr, nullptr, list(none),
                                0) == diopiSuccess);
    CHECK(std::isnan(values(*per_row)[1]));
    const auto no_row = unwritten({0}, Dtype::float32);
    REQUIRE(cpu::diopiLayerNormBackward(&ctx, nullptr, gw.get(), nullptr, empty.get(), empty.get(), nullptr, nullptr,
                                        no_row.get(), no_row.get(), list(three)) == diopiSuccess);
    CHECK(values(*gw) == Values(3, 0));
    const auto x = unwritten({2, 4}, Dtype::float32);
    CHECK(cpu::diopiLayerNorm(&ctx, x.get(), nullptr, nullptr, x.get(), nullptr, nullptr, list(three), 0) ==
          diopiErrorOccurred);
    CHECK(last_error() == "diopiLayerNorm: input has shape (2, 4), wanted one that ends in normalized_shape (3,)");
    const IntList four = {4};
    CHECK(cpu::diopiLayerNorm(&ctx, x.get(), gw.get(), nullptr, x.get(), nullptr, nullptr, list(four), 0) ==
          diopiErrorOccurred);
    CHECK(last_error() == "diopiLayerNorm: save_mean has shape (3,), wanted 2 elements, one for each row");
    CHECK(cpu::diopiLayerNorm(&ctx, x.get(), nullptr, nullptr, x.get(), gw.get(), nullptr, list(four), 0) ==
          diopiErrorOccurred);
    const auto gx = unwritten({2, 4}, Dtype::float32);
    CHECK(cpu::diopiLayerNormBackward(&ctx, gx.get(), nullptr, nullptr, x.get(), x.get(), nullptr, nullptr, nullptr,
                                      per_row.get(), list(four)) == diopiErrorOccurred);
    CHECK(last_error() ==
          "diopiLayerNormBackward: mean is null, wanted one number for each row, as diopiLayerNorm saves it");
    CHECK(cpu::diopiLayerNormBackward(&ctx, gx.get(), nullptr, nullptr, x.get(), x.get(), nullptr, nullptr,
                                      per_row.get(), nullptr, list(four)) == diopiErrorOccurred);
    const auto whole = unwritten({2, 4}, Dtype::int32);
    CHECK(cpu::diopiLayerNorm(&ctx, whole.get(), nullptr, nullptr, whole.get(), nullptr, nullptr, list(four), 0) ==
          diopiDtypeNotSupported);
}
