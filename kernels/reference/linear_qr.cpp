/// Orthogonal and triangular factors.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/instruction_sets.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/reference/matrices.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/sum.hpp"

namespace diopi::reference {

namespace {

double dot(int64_t n, const double* x, const double* y) {
    return pairwise_sum<double>(n, [&](int64_t k) { return x[k] * y[k]; });
}

/// x -= tau v (v x), where v has n elements.
void reflect(int64_t n, const double* v, double tau, double* x) {
    const double factor = tau * dot(n, v, x);
    for (int64_t k = 0; k < n; ++k) x[k] -= factor * v[k];
}

/// Turns x into (beta, 0, ..., 0) by I - tau v v^T, whose v it leaves in x with v_0 = 1. Returns beta. The sign of beta
/// is contrary to that of x_0; where the rest is 0, nothing changes. Source: LAPACK's dlarfg.
double make_reflection(int64_t n, double* x, double& tau) {
    const double first = x[0], rest = std::sqrt(dot(n - 1, x + 1, x + 1));
    tau = 0;
    if (rest == 0) return first;
    const double beta = -std::copysign(std::hypot(first, rest), first);
    tau = (beta - first) / beta;
    for (int64_t k = 1; k < n; ++k) x[k] /= first - beta;
    return beta;
}

/// Columns that are reflected one after the other, so that they and the reflection's vector stay in a cache.
constexpr int64_t kTogether = 16;

/// Reflects columns [first, last) of `columns` by reflection j of `reflections`; each column has m elements.
void reflect_columns(int64_t m, int64_t j, double* reflections, double tau, int64_t first, int64_t last,
                     double* columns) {
    double* v = reflections + j * m + j;
    const double beta = std::exchange(v[0], 1);
    for (int64_t c = first; c < last && tau != 0; ++c) reflect(m - j, v, tau, columns + c * m + j);
    v[0] = beta;
}

/// Householder's reflections of a matrix (m, n), whose columns are one after the other in `columns`: these become R
/// above and on the diagonal, and the vectors of the reflections below it.
std::vector<double> triangularise(int64_t m, int64_t n, std::vector<double>& columns) {
    const auto reflect_best = best<reflect_columns>();
    const int64_t reflections = std::min(m, n);
    std::vector<double> taus(static_cast<size_t>(reflections));
    for (int64_t first = 0; first < n; first += kTogether) {
        const int64_t last = std::min(first + kTogether, n);
        for (int64_t j = 0; j < std::min(last, reflections); ++j) {
            double *v = columns.data() + j * m + j, &tau = taus[static_cast<size_t>(j)];
            if (j >= first) *v = make_reflection(m - j, v, tau);
            reflect_best(m, j, columns.data(), tau, std::max(first, j + 1), last, columns.data());
        }
    }
    return taus;
}

/// The first `width` columns of the product of the reflections.
std::vector<double> orthogonal(int64_t m, int64_t width, std::vector<double>& reflections,
                               const std::vector<double>& taus) {
    const auto reflect_best = best<reflect_columns>();
    std::vector<double> q(static_cast<size_t>(m * width), 0.0);
    for (int64_t c = 0; c < width; ++c) q[static_cast<size_t>(c * m + c)] = 1;
    for (int64_t first = 0; first < width; first += kTogether) {
        const int64_t last = std::min(first + kTogether, width);
        for (int64_t j = std::min(std::ssize(taus), last) - 1; j >= 0; --j) {
            reflect_best(m, j, reflections.data(), taus[static_cast<size_t>(j)], std::max(first, j), last, q.data());
        }
    }
    return q;
}

/// A = Q R. Source: torch.linalg.qr.
diopiError_t orthogonal_factors(diopiContextHandle_t, std::string_view, diopiConstTensorHandle_t matrix,
                                const char* mode, diopiTensorHandle_t orthonormal, diopiTensorHandle_t triangular) {
    return kernel([&] {
        const std::string_view wanted = mode == nullptr ? "" : mode;
        const bool is_complete = wanted == "complete", has_q = wanted != "r";
        if (has_q && !is_complete && wanted != "reduced")
            refuse("mode is '" + std::string(wanted) + "', wanted reduced, complete or r");
        require_real(matrix, "A");
        const Operand<double> a(matrix, "A");
        Output<double> q(orthonormal, "Q"), r(triangular, "R");
        const ShapeView batch = batch_of(a.shape(), "A");
        const int64_t m = a.size(a.rank() - 2), n = a.size(a.rank() - 1), width = is_complete ? m : std::min(m, n);
        require_shape("Q", q.shape(), has_q ? matrices(batch, m, width) : Shape{0});
        require_shape("R", r.shape(), matrices(batch, width, n));
        for (int64_t number = 0; number < numel(batch); ++number) {
            std::vector<double> columns(static_cast<size_t>(m * n));
            for (int64_t k = 0; k < m * n; ++k) columns[static_cast<size_t>(k % n * m + k / n)] = a[number * m * n + k];
            const std::vector<double> taus = triangularise(m, n, columns);
            for (int64_t i = 0; i < width; ++i) {
                for (int64_t j = 0; j < n; ++j) {
                    r[(number * width + i) * n + j] = i <= j ? columns[static_cast<size_t>(j * m + i)] : 0;
                }
            }
            if (!has_q) continue;
            const std::vector<double> turned = orthogonal(m, width, columns, taus);
            for (int64_t k = 0; k < m * width; ++k) {
                q[number * m * width + k] = turned[static_cast<size_t>(k % width * m + k / width)];
            }
        }
        q.store();
        r.store();
    });
}

}  // namespace

#include "kernels/entries/linear_qr.inc"

}  // namespace diopi::reference
