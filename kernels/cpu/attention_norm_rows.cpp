/// The loops of normalisation by the root mean square on Highway's vectors. A row is read twice; the sums are parts in
/// the compute type, joined in double.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_norm_rows.cpp"
#include <hwy/foreach_target.h>

#include <cmath>

#include "kernels/cpu/attention_norm_rows.hpp"
#include "kernels/cpu/vector_sums-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace {

template <class E>
struct Element {
    using T = ComputeOf<E>;
    const E* x;
    HWY_INLINE Vec<T> operator()(int64_t i, int64_t n) const { return load_up_to(x + i, n); }
};

/// residual + x + bias
template <class E>
struct Total {
    using T = ComputeOf<E>;
    const E* x;
    const E* residual;
    const T* bias;
    HWY_INLINE Vec<T> operator()(int64_t i, int64_t n) const {
        return load_up_to(residual + i, n) + load_up_to(x + i, n) + load_up_to(bias + i, n);
    }
};

template <class Value>
struct Square {
    using T = typename Value::T;
    Value value;
    HWY_INLINE void operator()(int64_t i, int64_t n, Vec<T>* terms) const {
        const Vec<T> x = value(i, n);
        terms[0] = x * x;
    }
};

/// 1 / sqrt(mean of squares + eps)
template <class Value>
HWY_INLINE double inverse_rms(const Value& value, int64_t n, double eps) {
    Sums<typename Value::T, 1> squares;
    squares.add(n, Square<Value>{value});
    return 1 / std::sqrt(squares.total(0) / static_cast<double>(n) + eps);
}

template <class E>
struct WriteNormalised {
    using T = ComputeOf<E>;
    const E* x;
    const T* weight;
    const T* bias;
    E* out;
    Vec<T> factor;
    HWY_INLINE void operator()(int64_t i, int64_t n) const {
        const Vec<T> xhat = load_up_to(x + i, n) * factor;
        store_up_to(hn::MulAdd(xhat, load_up_to(weight + i, n), load_up_to(bias + i, n)), out + i, n);
    }
};

template <class E, class T = ComputeOf<E>>
double normalise(const E* x, const T* weight, const T* bias, E* out, int64_t n, double eps) {
    const double r = inverse_rms(Element<E>{x}, n, eps);
    for_each_vector<E>(n, WriteNormalised<E>{x, weight, bias, out, set(static_cast<T>(r))});
    return r;
}

template <class E>
struct WriteTotal {
    using T = ComputeOf<E>;
    Total<E> value;
    const T* scale;
    E* out;
    E* total;
    Vec<T> factor;
    HWY_INLINE void operator()(int64_t i, int64_t n) const {
        const Vec<T> sum = value(i, n);
        store_up_to(sum, total + i, n);
        store_up_to(sum * factor * load_up_to(scale + i, n), out + i, n);
    }
};

template <class E, class T = ComputeOf<E>>
void add_and_normalise(const E* x, const E* residual, const T* bias, const T* scale, E* out, E* total, int64_t n,
                       double eps) {
    const Total<E> value{x, residual, bias};
    const auto r = static_cast<T>(inverse_rms(value, n, eps));
    for_each_vector<E>(n, WriteTotal<E>{value, scale, out, total, set(r)});
}

/// h, and xhat
template <class E>
struct Slope {
    using T = ComputeOf<E>;
    const E* g;
    const E* x;
    const T* weight;
    Vec<T> factor;
    HWY_INLINE Vec<T> h(int64_t i, int64_t n) const { return load_up_to(g + i, n) * load_up_to(weight + i, n); }
    HWY_INLINE Vec<T> xhat(int64_t i, int64_t n) const { return load_up_to(x + i, n) * factor; }
    HWY_INLINE void operator()(int64_t i, int64_t n, Vec<T>* terms) const { terms[0] = h(i, n) * xhat(i, n); }
};

template <class E>
struct WriteGradient {
    using T = ComputeOf<E>;
    Slope<E> slope;
    E* grad;
    Vec<T> average;
    HWY_INLINE void operator()(int64_t i, int64_t n) const {
        store_up_to(slope.factor * hn::NegMulAdd(slope.xhat(i, n), average, slope.h(i, n)), grad + i, n);
    }
};

template <class E, class T = ComputeOf<E>>
void backward(const E* g, const E* x, const T* weight, E* grad, int64_t n, double r) {
    const Slope<E> slope{g, x, weight, set(static_cast<T>(r))};
    Sums<T, 1> products;
    products.add(n, slope);
    const Vec<T> average = set(static_cast<T>(products.total(0) / static_cast<double>(n)));
    for_each_vector<E>(n, WriteGradient<E>{slope, grad, average});
}

template <class E>
constexpr RmsNormKernels<E, ComputeOf<E>> kernels_of() {
    return {normalise<E>, add_and_normalise<E>, backward<E>};
}

RmsNormTable Kernels() {
    return {kernels_of<float>(), kernels_of<double>(), kernels_of<Half>(), kernels_of<Bfloat16>()};
}

}  // namespace

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diopi::cpu {

DIOPI_BEST(RmsNormTable, rms_norm_table)

}  // namespace diopi::cpu
#endif
