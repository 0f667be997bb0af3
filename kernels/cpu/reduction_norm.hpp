/// Norms of vectors as folds, in float64, and their gradients.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/cpu/reduction_fold.hpp"

namespace diopi::cpu {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Refuses a tensor that is not floating, and one without elements for an order of which it has no norm.
[[nodiscard]] diopiError_t check_norm(std::string_view op, std::string_view argument, const View& x, double p,
                                      bool has_results);
/// out = the norm of order p over dims (empty: all).
[[nodiscard]] diopiError_t norm_over(std::string_view op, const View& out, const View& in, ShapeView dims, double p);

/// A sum of terms in float64.
struct Sum {
    using Accumulator = double;
    static double start() { return 0; }
    static double join(double a, double b) { return a + b; }
};

template <class T>
struct Norm1 : Sum {
    using Element = T;
    static double step(double a, T x) { return a + std::fabs(static_cast<double>(x)); }
    static double finish(double a) { return a; }
};

template <class T>
struct Norm2 : Sum {
    using Element = T;
    template <class X>
    static X term(X x) {
        return x * x;
    }
    /// Where a square overflows or underflows in float32, the sum shows it, or is so large that what is lost does not
    /// count.
    static bool may_group(double sum) requires(sizeof(T) < sizeof(double)) { return sum > 0x1p-80 && sum < kInfinity; }
    static double step(double a, T x) { return a + term(static_cast<double>(widened(x))); }
    static double finish(double a) { return std::sqrt(a); }
};

template <class T>
struct NormCount : Sum {
    using Element = T;
    static double step(double a, T x) { return a + (x != T{} ? 1.0 : 0.0); }
    static double finish(double a) { return a; }
};

template <class T>
struct NormPower : Sum {
    using Element = T;
    double p;
    [[nodiscard]] double step(double a, T x) const { return a + std::pow(std::fabs(static_cast<double>(x)), p); }
    [[nodiscard]] double finish(double a) const { return std::pow(a, 1 / p); }
};

/// The extreme magnitude, NaN if there is one.
template <class T, bool kGreatest>
struct NormExtreme {
    using Element = T;
    using Accumulator = T;
    static T start() { return kGreatest ? T{} : std::numeric_limits<T>::infinity(); }
    static T step(T a, T x) {
        const T size = std::fabs(x);
        return (kGreatest ? size > a : size < a) | (size != size) ? size : a;
    }
    static T join(T a, T b) { return a != a ? a : step(a, b); }
    static double finish(T a) { return static_cast<double>(a); }
};

/// Calls f.template operator()<T>(dtype of T): float for float32 and the half types, else double.
template <class F>
diopiError_t with_floats(Dtype dtype, F&& f) {
    if (wide(dtype) == Dtype::float64) return f.template operator()<double>(Dtype::float64);
    return f.template operator()<float>(Dtype::float32);
}

/// Calls f with the fold of the norm of order p.
template <class T, class F>
diopiError_t with_norm(double p, F&& f) {
    if (p == kInfinity) return f(NormExtreme<T, true>());
    if (p == -kInfinity) return f(NormExtreme<T, false>());
    if (p == 0) return f(NormCount<T>());
    if (p == 1) return f(Norm1<T>());
    if (p == 2) return f(Norm2<T>());
    return f(NormPower<T>{{}, p});
}

/// The number of elements that have the extreme magnitude.
template <class T>
struct Sharing : Sum {
    using Element = T;
    static double step(double a, T x, double norm) {
        const double size = std::fabs(static_cast<double>(x));
        return a + ((size == norm) | ((size != size) & (norm != norm)) ? 1.0 : 0.0);
    }
    static double finish(double a) { return a; }
};

/// grad * (the gradient of the norm by its element x). The grad of a norm of extreme magnitudes is already divided by
/// the number of elements that have this magnitude. kOrder: p where it is known, so that loops run on vectors.
template <class T, int kOrder = 0>
struct NormGradient {
    double given;

    T operator()(T grad, T x, T norm) const {
        return static_cast<T>(of(static_cast<double>(grad), static_cast<double>(x), static_cast<double>(norm)));
    }
    [[nodiscard]] double of(double grad, double x, double norm) const {
        const double p = kOrder != 0 ? kOrder : given;
        const double size = std::fabs(x), sign = x > 0 ? 1 : x < 0 ? -1 : 0;
        if (p == 0) return 0 * grad;
        if (p == 1) return grad * sign;
        if (std::isinf(p)) return grad * (size == norm ? sign : 0);
        if (norm == 0) return 0 * grad;
        if (p == 2) return grad * (x / norm);
        if (p < 1) return x == 0 ? 0 * grad : grad * (sign * std::pow(size, p - 1)) * std::pow(norm, 1 - p);
        return sign * std::pow(size, p - 1) * (grad / std::pow(norm, p - 1));
    }
};

}  // namespace diopi::cpu
