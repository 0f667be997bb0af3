/// Products of a matrix that may have errors with one of exact numbers, which attention is made of.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/reference/blas.hpp"
#include "kernels/reference/kept_factors.hpp"

namespace diopi::reference {

/// Memory for numbers that are written first.
inline std::unique_ptr<double[]> room_for(size_t count) { return std::make_unique_for_overwrite<double[]>(count); }

/// c (m, n) += a * b. `a` is (m, k), or its transpose in memory, and `b` (k, n). `keeping`: the errors of keeping `a`
/// in the format of the tensors; empty: it is not kept.
inline void add_product(int64_t m, int64_t n, int64_t k, const double* a, bool transposed, const Matrix& b, double* c,
                        std::span<const double> = {}) {
    multiply(m, n, k, {a, transposed ? m : k, transposed}, b, c, n, true);
}

/// a * b, as above.
inline std::unique_ptr<double[]> product(int64_t m, int64_t n, int64_t k, const double* a, bool transposed,
                                         const Matrix& b) {
    auto c = room_for(static_cast<size_t>(m * n));
    multiply(m, n, k, {a, transposed ? m : k, transposed}, b, c.get(), n, false);
    return c;
}

/// Adds to the errors of c those of keeping the factors `a` in the format of the tensors. `size` is |b|, of `taken`
/// numbers.
inline void add_errors_of_kept(int64_t m, int64_t n, int64_t k, const Inexact* a, std::span<const double> keeping,
                               bool transposed, const Matrix& size, size_t taken, Inexact* c) {
    const auto square = [](double x) { return x * x; };
    const auto squares = room_for(keeping.size()), squared = room_for(taken);
    std::ranges::transform(keeping, squares.get(), square);
    std::transform(size.data, size.data + taken, squared.get(), square);
    const auto sums = product(m, n, k, keeping.data(), transposed, size);
    const auto square_sums = product(m, n, k, squares.get(), transposed, {squared.get(), size.pitch, size.transposed});
    // Some rows at a time, so that a column of the transpose is not read for each alone.
    constexpr int64_t kRows = 16;
    std::vector<double> values(static_cast<size_t>(kRows * k));
    AlikeCount count;
    for (int64_t first = 0; first < m; first += kRows) {
        const int64_t rows = std::min(kRows, m - first);
        for (int64_t j = 0; j < k; ++j) {
            for (int64_t r = 0; r < rows; ++r) {
                values[static_cast<size_t>(r * k + j)] = a[transposed ? j * m + first + r : (first + r) * k + j].value;
            }
        }
        for (int64_t r = 0; r < rows; ++r) {
            const double alike = count.most_of({values.data() + r * k, static_cast<size_t>(k)});
            for (auto at = static_cast<size_t>((first + r) * n); at < static_cast<size_t>((first + r + 1) * n); ++at) {
                c[at] = {c[at].value, c[at].error + error_of_kept(sums[at], square_sums[at], alike)};
            }
        }
    }
}

/// The error of a sum of k products: what the factors bring, and the roundings of the products and of their sum, of
/// which each is a share of a product's magnitude.
inline void add_product(int64_t m, int64_t n, int64_t k, const Inexact* a, bool transposed, const Matrix& b, Inexact* c,
                        std::span<const double> keeping = {}) {
    const auto count = static_cast<size_t>(m * k), results = static_cast<size_t>(m * n);
    const auto taken = static_cast<size_t>(b.transposed ? n * b.pitch : k * b.pitch);
    const auto length = static_cast<double>(k);
    const double roundings = (1 + std::min(length, 4 * std::sqrt(length))) * working_format.roundoff;
    const auto values = room_for(count), errors = room_for(count), sizes = room_for(taken);
    for (size_t i = 0; i < count; ++i) {
        values[i] = a[i].value;
        errors[i] = a[i].error + roundings * std::fabs(a[i].value);
    }
    std::transform(b.data, b.data + taken, sizes.get(), [](double x) { return std::fabs(x); });
    const Matrix size{sizes.get(), b.pitch, b.transposed};
    const auto sums = product(m, n, k, values.get(), transposed, b);
    const auto sum_errors = product(m, n, k, errors.get(), transposed, size);
    for (size_t i = 0; i < results; ++i) {
        c[i] += Inexact(sums[i], sum_errors[i] + length * working_format.least);
    }
    if (!keeping.empty()) add_errors_of_kept(m, n, k, a, keeping, transposed, size, taken, c);
}

}  // namespace diopi::reference
