/// Distances of all points of one set to all points of another, and their gradient.
#include <algorithm>
#include <cmath>

#include "core/instruction_sets.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/reference/matrices.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/power.hpp"
#include "kernels/reference/sum.hpp"

namespace diopi::reference {

namespace {

/// Whether a - b has no rounding because one of both is 0; without a branch.
bool is_exact_difference(double a, double b) { return (static_cast<int>(a == 0) | static_cast<int>(b == 0)) != 0; }

/// a - b, as the operator gives it, but without branches, so that loops vectorise.
template <class T>
T difference(double a, double b);
template <>
double difference<double>(double a, double b) {
    return a - b;
}
template <>
Inexact difference<Inexact>(double a, double b) {
    const double apart = a - b;
    return {apart, is_exact_difference(a, b) ? 0.0 : working_format.roundoff * std::fabs(apart)};
}

double magnitude(double x) { return std::fabs(x); }
Inexact magnitude(const Inexact& x) { return {std::fabs(x.value), x.error}; }

/// The sum of (x_k - y_k)^2.
template <class T>
T sum_of_squares(int64_t m, const double* x, const double* y);
template <>
double sum_of_squares<double>(int64_t m, const double* x, const double* y) {
    return pairwise_sum<double>(m, [=](int64_t k) { return (x[k] - y[k]) * (x[k] - y[k]); });
}
/// The errors of the differences and of their squares, as the operators give them, in a loop that vectorises. The
/// square of 0 has none, which would make that of the root infinite.
template <>
Inexact sum_of_squares<Inexact>(int64_t m, const double* x, const double* y) {
    double total = 0, of_rounded = 0, terms = 0;
#pragma omp simd reduction(+ : total, of_rounded, terms)
    for (int64_t k = 0; k < m; ++k) {
        const double apart = x[k] - y[k], square = apart * apart;
        total += square;
        of_rounded += is_exact_difference(x[k], y[k]) ? 0.0 : square;
        terms += apart == 0 ? 0.0 : 1.0;
    }
    const double u = working_format.roundoff;
    return Sum<Inexact>({total, (2 + u) * u * of_rounded + u * total + terms * working_format.least, total, terms})
        .value();
}

/// The largest difference; NaN if there is one.
template <class T>
T largest_difference(int64_t m, const double* x, const double* y) {
    using std::isnan;
    T largest(0);
    for (int64_t k = 0; k < m; ++k) {
        const T size = magnitude(difference<T>(x[k], y[k]));
        if (isnan(size)) return size;
        if (size > largest) largest = size;
    }
    return largest;
}

/// The p-norm of x - y: the number of coordinates that differ for p = 0, the largest difference for infinity.
template <class T>
T distance(double p, int64_t m, const double* x, const double* y) {
    using std::sqrt;
    const auto size = [&](int64_t k) { return magnitude(difference<T>(x[k], y[k])); };
    if (std::isinf(p)) return largest_difference<T>(m, x, y);
    if (p == 0) {
        return pairwise_sum<double>(m, [&](int64_t k) {
            const double apart = x[k] - y[k];
            return std::isnan(apart) ? apart : apart != 0 ? 1.0 : 0.0;
        });
    }
    if (p == 1) return pairwise_sum<T>(m, size);
    if (p == 2) return sqrt(sum_of_squares<T>(m, x, y));
    return power(pairwise_sum<T>(m, [&](int64_t k) { return power(size(k), p); }), 1 / p);
}

/// The same by |x|^2 + |y|^2 - 2 x y, which has the rounding errors of these larger terms.
double by_product(double plain, int64_t, const double*, const double*) { return plain; }
Inexact by_product(const Inexact& plain, int64_t m, const double* x, const double* y) {
    const double terms = pairwise_sum<double>(m, [=](int64_t k) {
        const double both = std::fabs(x[k]) + std::fabs(y[k]);
        return both * both;
    });
    const double n = static_cast<double>(m) + 2;
    const Inexact sum(terms, (std::min(n, 4 * std::sqrt(n)) + 4) * working_format.roundoff * terms);
    const double square = plain.value * plain.value;
    const double above = std::sqrt(square + sum.error) - plain.value;
    const double below = plain.value - std::sqrt(std::max(square - sum.error, 0.0));
    return {plain.value, plain.error + (std::isinf(sum.error) ? sum.error : std::max(above, below))};
}

/// From the first of `count` points `b` on, with m coordinates each.
template <class T>
void distances_from(const double* a, int64_t m, const double* b, int64_t count, double p, bool may_multiply, T* to) {
    for (int64_t j = 0; j < count; ++j) {
        const T plain = distance<T>(p, m, a, b + j * m);
        to[j] = may_multiply ? by_product(plain, m, a, b + j * m) : plain;
    }
}

/// The points of both sets: (*, P, M) and (*, R, M).
struct Points {
    ShapeView batch1, batch2;
    Shape batch;
    int64_t p, r, m;
};

Points points_of(ShapeView x, ShapeView y, double order) {
    Points points{batch_of(x, "input1"), batch_of(y, "input2"), {}, 0, 0, 0};
    if (x.back() != y.back()) refuse("input2 has shape " + to_string(y) + ", wanted points as in " + to_string(x));
    if (!(order >= 0)) refuse("p is " + std::to_string(order) + ", wanted 0 or more");
    points.batch = common_batch(points.batch1, points.batch2);
    points.p = x[x.size() - 2], points.r = y[y.size() - 2], points.m = x.back();
    return points;
}

diopiError_t distances(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input1, diopiConstTensorHandle_t input2, double p,
                       const int64_t* compute_mode) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        require_real(input1, "input1");
        const Operand<double> x(input1, "input1"), y(input2, "input2");
        Output<T> to(out, "out");
        const Points points = points_of(x.shape(), y.shape(), p);
        require_shape("out", to.shape(), matrices(points.batch, points.p, points.r));
        const int64_t mode = compute_mode == nullptr ? 0 : *compute_mode;
        if (mode < 0 || mode > 2) refuse("compute_mode is " + std::to_string(mode) + ", wanted 0, 1 or 2");
        const bool may_multiply = p == 2 && (mode == 1 || (mode == 0 && (points.p > 25 || points.r > 25)));
        const auto measure = best<distances_from<T>>();
        T* next = to.data();
        for_each_matrix<2>(points.batch, {points.batch1, points.batch2}, [&](const auto& at) {
            for (int64_t i = 0; i < points.p; ++i, next += points.r) {
                measure(x.data() + (at[0] * points.p + i) * points.m, points.m, y.data() + at[1] * points.r * points.m,
                        points.r, p, may_multiply, next);
            }
        });
        to.store();
    });
}

double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

/// Where the largest difference is nearly as large in another coordinate, rounding decides whether both have a slope.
double slope_of_largest(double apart, double largest) {
    if (std::isnan(largest)) return largest;
    return std::fabs(apart) == largest ? sign_of(apart) : 0;
}
Inexact slope_of_largest(const Inexact& apart, const Inexact& largest) {
    const double slope = slope_of_largest(apart.value, largest.value);
    const bool is_near = std::fabs(apart.value) + apart.error + largest.error >= largest.value;
    return {slope, slope == 0 && is_near ? 1.0 : 0.0};
}

/// d distance / d x of one coordinate, 0 where the distance is 0; `steep` is distance^(p - 1). Source:
/// torch.ops.aten._cdist_backward.
template <class T>
T slope(double p, const T& apart, const T& distance, const T& steep) {
    if (p == 1) return T(0) > apart ? T(-1) : apart > T(0) ? T(1) : apart;
    if (distance == T(0)) return T(0);
    if (p == 2) return apart / distance;
    if (apart == T(0)) return T(0);
    const T size = power(magnitude(apart), p - 1) / steep;
    return T(0) > apart ? -size : size;
}

/// Adds share * (a - b) to the sums of a row.
template <class T>
void add_scaled_differences(const T& share, int64_t n, const double* a, const double* b, Sums<T>& sums, int64_t first) {
    sums.add(first, n, [=](int64_t k) { return share * difference<T>(a[k], b[k]); });
}

/// Whether the factor is a normal number, far enough from the smallest one: then a product with it has no error beside
/// the roundings.
bool is_precise(double x) { return std::isnormal(x); }
bool is_precise(const Inexact& x) {
    return std::fabs(x.value) * working_format.roundoff >= working_format.least && std::isfinite(x.error);
}

/// grad_input sums over the points of input2, and over the matrices to which input1 is broadcast.
diopiError_t distances_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                                diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input1,
                                diopiConstTensorHandle_t input2, double p, diopiConstTensorHandle_t cdist) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        require_real(input1, "input1");
        const Operand<double> x(input1, "input1"), y(input2, "input2"), g(grad_output, "grad_output");
        const Operand<double> saved(cdist, "cdist");
        Output<T> gx(grad_input, "grad_input");
        const Points points = points_of(x.shape(), y.shape(), p);
        const auto add_scaled = best<add_scaled_differences<T>>();
        const int64_t m = points.m;
        require_shape("grad_input", gx.shape(), x.shape());
        require_shape("grad_output", g.shape(), matrices(points.batch, points.p, points.r));
        require_shape("cdist", saved.shape(), g.shape());
        Sums<T> sums(static_cast<size_t>(gx.numel()));
        int64_t pair = 0;
        for_each_matrix<2>(points.batch, {points.batch1, points.batch2}, [&](const auto& at) {
            for (int64_t i = 0; i < points.p; ++i) {
                const int64_t row = (at[0] * points.p + i) * m;
                for (int64_t j = 0; j < points.r; ++j, ++pair) {
                    if (p == 0) continue;
                    const double *a = x.data() + row, *b = y.data() + (at[1] * points.r + j) * m;
                    const T largest = std::isinf(p) ? largest_difference<T>(m, a, b) : T(0);
                    const T distance = T(saved[pair]);
                    const bool is_power = p != 1 && p != 2 && !std::isinf(p) && !(distance == T(0));
                    const T steep = is_power ? power(distance, p - 1) : T(1);
                    const T share = p == 2 ? T(g[pair]) / distance : T(0);
                    if (is_precise(share)) {
                        // As below, with one division for all coordinates.
                        add_scaled(share, m, a, b, sums, row);
                        continue;
                    }
                    sums.add(row, m, [&](int64_t k) {
                        const T apart = difference<T>(a[k], b[k]);
                        return T(g[pair]) *
                               (std::isinf(p) ? slope_of_largest(apart, largest) : slope<T>(p, apart, distance, steep));
                    });
                }
            }
        });
        for (int64_t k = 0; k < gx.numel(); ++k) gx[k] = sums.value(k);
        gx.store();
    });
}

}  // namespace

#include "kernels/entries/linear_distance.inc"

}  // namespace diopi::reference
