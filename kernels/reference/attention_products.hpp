/// Products of a matrix that may have errors with one of exact numbers, which attention is made of.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/reference/blas.hpp"
#include "kernels/reference/inexact.hpp"

namespace diopi::reference {

/// c (m, n) += a * b. `a` is (m, k), or its transpose in memory, and `b` (k, n).
inline void add_product(int64_t m, int64_t n, int64_t k, const double* a, bool transposed, const Matrix& b, double* c) {
    multiply(m, n, k, {a, transposed ? m : k, transposed}, b, c, n, true);
}

/// The error of a sum of k products: what the factors bring, and the roundings of the products and of their sum.
inline void add_product(int64_t m, int64_t n, int64_t k, const Inexact* a, bool transposed, const Matrix& b,
                        Inexact* c) {
    const auto count = static_cast<size_t>(m * k), results = static_cast<size_t>(m * n);
    const auto taken = static_cast<size_t>(b.transposed ? n * b.pitch : k * b.pitch);
    std::vector<double> values(count), magnitudes(count), errors(count), sizes(taken);
    for (size_t i = 0; i < count; ++i) {
        values[i] = a[i].value;
        magnitudes[i] = std::fabs(a[i].value);
        errors[i] = a[i].error;
    }
    std::transform(b.data, b.data + taken, sizes.begin(), [](double x) { return std::fabs(x); });
    const Matrix size{sizes.data(), b.pitch, b.transposed};
    std::vector<double> sums(results), terms(results), brought(results);
    add_product(m, n, k, values.data(), transposed, b, sums.data());
    add_product(m, n, k, magnitudes.data(), transposed, size, terms.data());
    add_product(m, n, k, errors.data(), transposed, size, brought.data());
    const auto length = static_cast<double>(k);
    const double roundings = 1 + std::min(length, 4 * std::sqrt(length));
    for (size_t i = 0; i < results; ++i) {
        const double own = roundings * working_format.roundoff * terms[i] + length * working_format.least;
        c[i] += Inexact(sums[i], brought[i] + own);
    }
}

}  // namespace diopi::reference
