/// Norms of vectors and their gradients.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/reference/operand.hpp"
#include "kernels/reference/power.hpp"
#include "kernels/reference/sum.hpp"

namespace diopi::reference {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline void require_floating(diopiConstTensorHandle_t input) {
    const Dtype dtype = view_of(input).dtype;
    if (kind_of(dtype) != Kind::kFloating) refuse_dtype("input", dtype, "a floating dtype");
}

/// The extreme magnitude; NaN if there is one.
template <bool kGreatest, class At>
double extreme_of(int64_t n, const At& at) {
    double best = kGreatest ? 0 : kInfinity;
    for (int64_t k = 0; k < n; ++k) {
        const double size = std::fabs(at(k));
        if (std::isnan(size)) return size;
        if (kGreatest ? size > best : size < best) best = size;
    }
    return best;
}

/// The norm of order p of n elements: (sum |x|^p)^(1/p), the limits of that at p = infinity and -infinity, the number
/// of elements that are not 0 at p = 0.
template <class T, class At>
T norm_of(double p, int64_t n, const At& at) {
    using std::sqrt;
    if (std::isinf(p)) return p > 0 ? extreme_of<true>(n, at) : extreme_of<false>(n, at);
    if (p == 0) return pairwise_sum<double>(n, [&](int64_t k) { return at(k) != 0 ? 1.0 : 0.0; });
    if (p == 1) return pairwise_sum<T>(n, [&](int64_t k) { return T(std::fabs(at(k))); });
    if (p == 2) return sqrt(pairwise_sum<T>(n, [&](int64_t k) { return T(at(k)) * T(at(k)); }));
    if (p < 0) {
        bool has_nan = false, has_zero = false;
        for (int64_t k = 0; k < n; ++k) has_nan |= std::isnan(at(k)), has_zero |= at(k) == 0;
        if (has_zero && !has_nan) return T(0);  // the sum is infinite
    }
    return power(pairwise_sum<T>(n, [&](int64_t k) { return power(T(std::fabs(at(k))), p); }), 1 / p);
}

/// The number of elements whose magnitude is the norm, where that is an extreme one.
template <class T, class At>
double extremes_of(double p, int64_t n, const At& at, const T& norm) {
    using std::isnan;
    double count = 0;
    for (int64_t k = 0; k < n && std::isinf(p); ++k) {
        const double size = std::fabs(at(k));
        count += T(size) == norm || (std::isnan(size) && isnan(norm)) ? 1 : 0;
    }
    return count;
}

template <class T>
T signed_as(T size, double x) {
    return x > 0 ? size : x < 0 ? -size : T(0);
}

/// The gradient of the norm by one of its elements, x. Elements that have the same extreme magnitude share it equally.
/// Source: torch.ops.aten.norm_backward.
template <class T>
T norm_slope(double p, double x, const T& norm, double sharing) {
    using std::isnan;
    const double size = std::fabs(x);
    if (p == 0) return T(0);
    if (p == 1) return signed_as(T(1), x);
    if (std::isinf(p)) {
        const bool has_share = T(size) == norm || (std::isnan(size) && isnan(norm));
        return has_share ? signed_as(T(1) / sharing, x) : T(0);
    }
    if (norm == T(0)) return T(0);
    if (p == 2) return T(x) / norm;
    if (p < 1) return x == 0 ? T(0) : signed_as(power(T(size), p - 1), x) * power(norm, 1 - p);
    return signed_as(power(T(size), p - 1), x) / power(norm, p - 1);
}

}  // namespace diopi::reference
