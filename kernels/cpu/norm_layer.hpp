/// Normalisation of rows, whose arguments are not checked yet.
#pragma once

#include <algorithm>
#include <array>

#include "kernels/cpu/norm_layer_rows.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/cpu/view.hpp"
#include "kernels/operands/norm.hpp"

namespace diopi::cpu {

/// `values`, or `n` times a number where there are none.
template <class T>
[[nodiscard]] const T* values_or(const T* values, T* room, int64_t n, T number) {
    if (values != nullptr) return values;
    std::fill_n(room, n, number);
    return room;
}

/// The gradient of the output, the input, and two statistics of each row.
template <class E>
struct GradientRows {
    const E* grad;
    const E* x;
    const double* mean;
    const double* rstd;
};

/// The gradients of weight and bias: the sums over the rows of grad * (x - mean) * rstd and of grad. Either may be
/// null.
template <class E, class T>
void sum_columns(const GradientRows<E>& a, const RowShape& rows, double* grad_weight, double* grad_bias) {
    if (grad_weight == nullptr && grad_bias == nullptr) return;
    const auto& kernels = layer_norm_kernels<E, T>();
    const int64_t n = rows.size, blocks = (n + kColumnBlock - 1) / kColumnBlock;
    parallel_for(blocks, 4 * rows.count * kColumnBlock, [&](int64_t first, int64_t last) {
        for (int64_t at = first * kColumnBlock; at < std::min(n, last * kColumnBlock); at += kColumnBlock) {
            std::array<double, kColumnBlock> products, sums;
            const int64_t columns = std::min(kColumnBlock, n - at);
            kernels.column_sums(a.grad + at, a.x + at, rows.count, n, a.mean, a.rstd, columns, products.data(),
                                sums.data());
            if (grad_weight != nullptr) std::copy_n(products.begin(), columns, grad_weight + at);
            if (grad_bias != nullptr) std::copy_n(sums.begin(), columns, grad_bias + at);
        }
    });
}

[[nodiscard]] diopiError_t normalise_layer(diopiContextHandle_t ctx, LayerNorm a);
[[nodiscard]] diopiError_t normalise_layer_backward(diopiContextHandle_t ctx, LayerNormGradient a);

}  // namespace diopi::cpu
