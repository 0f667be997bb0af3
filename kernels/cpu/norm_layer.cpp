/// Normalisation of rows. Sums over a row in vectors of the compute type, joined in double; sums over the rows, which
/// the gradients of weight and bias are, in double for blocks of columns.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/cpu/norm_sums.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/norm.hpp"

namespace diopi::cpu {

namespace {

/// Columns that one thread sums up together.
constexpr int64_t kColumnBlock = 128;

/// `values`, or `n` times a number where there are none.
template <class T>
const T* values_or(const T* values, T* room, int64_t n, T number) {
    if (values != nullptr) return values;
    std::fill_n(room, n, number);
    return room;
}

template <class T>
diopiError_t forward(diopiContextHandle_t ctx, const LayerNorm& a) {
    const int64_t n = a.rows.size;
    Staging staging(ctx);
    const auto* x = staging.in<T>(a.input);
    const auto* given_weight = staging.in<T>(a.weight);
    const auto* given_bias = staging.in<T>(a.bias);
    auto* y = staging.out<T>(a.out);
    auto* mean = staging.out<double>(a.save_mean);
    auto* invstd = staging.out<double>(a.save_invstd);
    auto* room = staging.buffer<T>(2 * n);
    if (staging.error() != diopiSuccess) return staging.error();
    const T* weight = values_or(given_weight, room, n, T{1});
    const T* bias = values_or(given_bias, room + n, n, T{0});
    parallel_for(a.rows.count, 4 * n, [&](int64_t first, int64_t last) {
        for (int64_t r = first; r < last; ++r) {
            const T* from = x + r * n;
            T* to = y + r * n;
            const RowStatistics<T> s = row_statistics(from, n, a.eps);
            for (int64_t i = 0; i < n; ++i) to[i] = ((from[i] - s.mean) * s.scale + s.shift) * weight[i] + bias[i];
            if (mean != nullptr) mean[r] = s.exact_mean;
            if (invstd != nullptr) invstd[r] = s.invstd;
        }
    });
    return staging.finish();
}

/// grad = rstd * (h - average(h) - xhat * average(h * xhat)), h = g * weight, of one row.
template <class T>
void row_gradient(const T* g, const T* x, const T* weight, int64_t n, T mean, T rstd, T* __restrict grad) {
    const auto count = static_cast<double>(n);
    const Vector<T> centre = spread(mean), scale = spread(rstd);
    const auto h = [=](int64_t i, int64_t m) { return load_up_to(g + i, m) * load_up_to(weight + i, m); };
    const double sum = sum_of<T>(n, h);
    const double product =
        sum_of<T>(n, [=](int64_t i, int64_t m) { return h(i, m) * ((load_up_to(x + i, m, mean) - centre) * scale); });
    const T average = static_cast<T>(sum / count), slope = static_cast<T>(product / count);
    for (int64_t i = 0; i < n; ++i) {
        grad[i] = rstd * (g[i] * weight[i] - average - (x[i] - mean) * rstd * slope);
    }
}

/// Adds kRows rows of g * xhat and of g to sums of `width` columns.
template <class T, int64_t kRows>
void add_rows(const T* g, const T* x, int64_t pitch, const double* mean, const double* rstd, int64_t width,
              double* products, double* sums) {
#pragma GCC ivdep
    for (int64_t c = 0; c < width; ++c) {
        double product = 0, sum = 0;
        for (int64_t k = 0; k < kRows; ++k) {
            const auto slope = static_cast<double>(g[k * pitch + c]);
            product += slope * ((static_cast<double>(x[k * pitch + c]) - mean[k]) * rstd[k]);
            sum += slope;
        }
        products[c] += product;
        sums[c] += sum;
    }
}

/// The sums over the rows of g * xhat and of g, for `width` columns from `column` on; each may be null.
template <class T>
void column_sums(const RowShape& rows, int64_t column, int64_t width, const T* g, const T* x, const double* mean,
                 const double* rstd, double* products, double* sums) {
    constexpr int64_t kTogether = 4;
    std::array<double, kColumnBlock> product{}, sum{};
    int64_t r = 0;
    const auto add = [&]<int64_t kRows>() {
        const int64_t at = r * rows.size + column;
        add_rows<T, kRows>(g + at, x + at, rows.size, mean + r, rstd + r, width, product.data(), sum.data());
        r += kRows;
    };
    while (r + kTogether <= rows.count) add.template operator()<kTogether>();
    while (r < rows.count) add.template operator()<1>();
    if (products != nullptr) std::copy_n(product.begin(), width, products + column);
    if (sums != nullptr) std::copy_n(sum.begin(), width, sums + column);
}

template <class T>
diopiError_t backward(diopiContextHandle_t ctx, const LayerNormGradient& a) {
    const int64_t n = a.rows.size;
    Staging staging(ctx);
    const auto* g = staging.in<T>(a.grad_output);
    const auto* x = staging.in<T>(a.input);
    const auto* given_weight = staging.in<T>(a.weight);
    const auto* mean = staging.in<double>(a.mean);
    const auto* rstd = staging.in<double>(a.rstd);
    auto* gx = staging.out<T>(a.grad_input);
    auto* gw = staging.out<double>(a.grad_weight);
    auto* gb = staging.out<double>(a.grad_bias);
    auto* room = staging.buffer<T>(n);
    if (staging.error() != diopiSuccess) return staging.error();
    if (gx != nullptr) {
        const T* weight = values_or(given_weight, room, n, T{1});
        parallel_for(a.rows.count, 4 * n, [&](int64_t first, int64_t last) {
            for (int64_t r = first; r < last; ++r) {
                row_gradient(g + r * n, x + r * n, weight, n, static_cast<T>(mean[r]), static_cast<T>(rstd[r]),
                             gx + r * n);
            }
        });
    }
    if (gw != nullptr || gb != nullptr) {
        const int64_t blocks = (n + kColumnBlock - 1) / kColumnBlock;
        parallel_for(blocks, 4 * a.rows.count * kColumnBlock, [&](int64_t first, int64_t last) {
            for (int64_t at = first * kColumnBlock; at < std::min(n, last * kColumnBlock); at += kColumnBlock) {
                column_sums(a.rows, at, std::min(kColumnBlock, n - at), g, x, mean, rstd, gw, gb);
            }
        });
    }
    return staging.finish();
}

template <class... Arguments>
diopiError_t layer_norm(diopiContextHandle_t ctx, Arguments... arguments) {
    LayerNorm a{arguments...};
    if (const diopiError_t error = read_layer_norm(a); error != diopiSuccess) return error;
    const View x = view(a.input);
    if (x.numel == 0) {
        fill({a.save_mean, a.save_invstd}, std::numeric_limits<double>::quiet_NaN());
        return diopiSuccess;
    }
    return (x.dtype == Dtype::float64 ? forward<double> : forward<float>)(ctx, a);
}

template <class... Arguments>
diopiError_t layer_norm_backward(diopiContextHandle_t ctx, Arguments... arguments) {
    LayerNormGradient a{arguments...};
    if (const diopiError_t error = read_layer_norm(a); error != diopiSuccess) return error;
    const View x = view(a.input);
    if (x.numel == 0) {
        fill({a.grad_weight, a.grad_bias}, 0);
        return diopiSuccess;
    }
    return (x.dtype == Dtype::float64 ? backward<double> : backward<float>)(ctx, a);
}

}  // namespace

#include "kernels/entries/norm_layer.inc"

}  // namespace diopi::cpu
