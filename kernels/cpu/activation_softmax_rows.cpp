/// The loops of softmax on Highway's vectors. Sums are parts in the compute type, joined in double.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/activation_softmax_rows.cpp"
#include <hwy/foreach_target.h>

#include <cmath>
#include <limits>

#include "kernels/cpu/activation_softmax_rows.hpp"
#include "kernels/cpu/vector_math-inl.hpp"
#include "kernels/cpu/vector_sums-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace {

/// Rows of half types up to this length keep their powers in float; longer ones compute them twice.
constexpr int64_t kKept = 1 << 14;
/// Rows of columns whose powers are summed in the compute type.
constexpr int64_t kRowPart = 128;
/// Rows of columns that are read together.
constexpr int kTogether = 4;
/// A column's base is at most this far below its maximum, so that powers do not overflow.
constexpr float kBelowMaximum = 16;

template <class T>
constexpr T kLowest = -std::numeric_limits<T>::infinity();
/// The first base of a column: finite, so that its difference from -inf is not NaN.
template <class T>
constexpr T kLeast = std::numeric_limits<T>::lowest();

/// The maximum of a row; a NaN in it may be missed, and then shows in the sum.
template <class E>
HWY_INLINE ComputeOf<E> row_max(const E* x, int64_t n) {
    using T = ComputeOf<E>;
    constexpr int64_t kStep = kLanesOf<E>;
    Vec<T> a = set(kLowest<T>), b = a, c = a, d = a;
    int64_t i = 0;
    for (; i + 4 * kStep <= n; i += 4 * kStep) {
        a = hn::Max(load(x + i), a);
        b = hn::Max(load(x + i + kStep), b);
        c = hn::Max(load(x + i + 2 * kStep), c);
        d = hn::Max(load(x + i + 3 * kStep), d);
    }
    for (; i < n; i += kStep) a = hn::Max(load_up_to(x + i, std::min(kStep, n - i), kLowest<T>), a);
    return hn::GetLane(hn::MaxOfLanes(Tag<T>(), hn::Max(hn::Max(a, b), hn::Max(c, d))));
}

/// exp(x - base), kept in `powers`.
template <class E, bool kKeeps>
struct Power {
    using T = ComputeOf<E>;
    const E* x;
    Vec<T> base;
    T* powers;
    HWY_INLINE void operator()(int64_t i, int64_t n, Vec<T>* terms) const {
        Vec<T> e = exp_below(load_up_to(x + i, n, kLowest<T>) - base);
        // With a maximum of -inf the missing lanes hold NaN.
        if (n < kLanesOf<E>) e = hn::IfThenElseZero(hn::FirstN(Tag<T>(), static_cast<size_t>(n)), e);
        if (kKeeps) store_up_to(e, powers + i, n);
        terms[0] = e;
    }
};

template <bool kKeeps, class E>
HWY_INLINE double sum_powers(const E* x, int64_t n, ComputeOf<E> base, ComputeOf<E>* powers) {
    Sums<ComputeOf<E>, 1> sums;
    sums.add(n, Power<E, kKeeps>{x, set(base), powers});
    return sums.total(0);
}

template <class E>
PowerSum sum_row(const E* x, int64_t n) {
    const auto base = row_max(x, n);
    return {static_cast<double>(base), sum_powers<false, E>(x, n, base, nullptr)};
}

/// out = powers * scale
template <class E>
struct ScalePowers {
    using T = ComputeOf<E>;
    const T* powers;
    E* out;
    Vec<T> scale;
    HWY_INLINE void operator()(int64_t i, int64_t n) const {
        store_up_to(load_up_to(powers + i, n) * scale, out + i, n);
    }
};

/// out = exp(x - base) * scale
template <class E>
struct WritePowers {
    using T = ComputeOf<E>;
    const E* x;
    E* out;
    Vec<T> base, scale;
    HWY_INLINE void operator()(int64_t i, int64_t n) const {
        store_up_to(exp_below(load_up_to(x + i, n) - base) * scale, out + i, n);
    }
};

/// out = (x - base) - shift
template <class E>
struct WriteLogarithms {
    using T = ComputeOf<E>;
    const E* x;
    E* out;
    Vec<T> base, shift;
    HWY_INLINE void operator()(int64_t i, int64_t n) const {
        store_up_to((load_up_to(x + i, n) - base) - shift, out + i, n);
    }
};

template <class E>
PowerSum row(const E* x, E* out, int64_t n, double factor) {
    using T = ComputeOf<E>;
    const T base = row_max(x, n);
    if constexpr (std::is_same_v<E, T>) {
        const double sum = sum_powers<true>(x, n, base, out);
        for_each_vector<E>(n, ScalePowers<E>{out, out, set(static_cast<T>(factor / sum))});
        return {static_cast<double>(base), sum};
    } else {
        if (n > kKept) {
            const double sum = sum_powers<false, E>(x, n, base, nullptr);
            for_each_vector<E>(n, WritePowers<E>{x, out, set(base), set(static_cast<T>(factor / sum))});
            return {static_cast<double>(base), sum};
        }
        HWY_ALIGN T powers[kKept];
        const double sum = sum_powers<true>(x, n, base, powers);
        for_each_vector<E>(n, ScalePowers<E>{powers, out, set(static_cast<T>(factor / sum))});
        return {static_cast<double>(base), sum};
    }
}

template <class E>
void log_row(const E* x, E* out, int64_t n) {
    using T = ComputeOf<E>;
    const PowerSum s = sum_row(x, n);
    const auto shift = static_cast<T>(std::log(s.sum));
    for_each_vector<E>(n, WriteLogarithms<E>{x, out, set(static_cast<T>(s.base)), set(shift)});
}

/// The sums of columns so far; `part` belongs to the last rows.
template <class T>
struct Columns {
    HWY_ALIGN T base[kSoftmaxColumns];
    HWY_ALIGN T part[kSoftmaxColumns];
    HWY_ALIGN double total[kSoftmaxColumns];

    explicit Columns(int64_t columns) {
        const int64_t n = (columns + kLanesOf<T> - 1) / kLanesOf<T> * kLanesOf<T>;
        std::fill_n(base, n, kLeast<T>);
        std::fill_n(part, n, T{0});
        std::fill_n(total, n, 0.0);
    }
    void join(int64_t columns) {
        for (int64_t j = 0; j < columns; ++j) {
            total[j] += static_cast<double>(part[j]);
            part[j] = 0;
        }
    }
    /// Sets the bases of n columns to `most` where that is far above; the sums follow.
    HWY_NOINLINE void raise(int64_t first, int64_t n, Vec<T> most) {
        HWY_ALIGN T maxima[kLanesOf<T>];
        hn::Store(most, Tag<T>(), maxima);
        for (int64_t k = 0; k < n; ++k) {
            const int64_t j = first + k;
            if (!(maxima[k] > base[j] + T{kBelowMaximum})) continue;
            const bool is_first = base[j] == kLeast<T>;
            const double scale = is_first ? 0 : std::exp(static_cast<double>(base[j]) - static_cast<double>(maxima[k]));
            part[j] = static_cast<T>(static_cast<double>(part[j]) * scale);
            total[j] *= scale;
            base[j] = maxima[k];
        }
    }
};

/// Adds kRows rows to the sums.
template <int kRows, class E>
struct AddRows {
    using T = ComputeOf<E>;
    const E* x;
    int64_t stride;
    Columns<T>& sums;
    HWY_INLINE void operator()(int64_t j, int64_t n) const {
        const Tag<T> d;
        Vec<T> rows[kRows];
        for (int k = 0; k < kRows; ++k) rows[k] = load_up_to(x + k * stride + j, n, kLowest<T>);
        Vec<T> most = rows[0];
        for (int k = 1; k < kRows; ++k) most = hn::Max(rows[k], most);
        if (!hn::AllFalse(d, hn::Gt(most, hn::Load(d, sums.base + j) + set(T{kBelowMaximum})))) {
            sums.raise(j, n, most);
        }
        const Vec<T> base = hn::Load(d, sums.base + j);
        Vec<T> sum = exp_below(rows[0] - base);
        for (int k = 1; k < kRows; ++k) sum = sum + exp_below(rows[k] - base);
        hn::Store(hn::Load(d, sums.part + j) + sum, d, sums.part + j);
    }
};

template <class E>
void sum_columns(const E* x, int64_t size, int64_t stride, int64_t columns, PowerSums& result) {
    using T = ComputeOf<E>;
    Columns<T> sums(columns);
    int64_t k = 0;
    while (k < size) {
        const int64_t end = std::min(size, k + kRowPart);
        for (; k + kTogether <= end; k += kTogether) {
            for_each_vector<E>(columns, AddRows<kTogether, E>{x + k * stride, stride, sums});
        }
        for (; k < end; ++k) for_each_vector<E>(columns, AddRows<1, E>{x + k * stride, stride, sums});
        sums.join(columns);
    }
    for (int64_t j = 0; j < columns; ++j) result.base[j] = static_cast<double>(sums.base[j]);
    std::copy_n(sums.total, columns, result.sum);
}

/// One row of columns: exp(x - base) * scale, or (x - base) - scale.
template <bool kLogarithm, class E>
struct WriteRow {
    using T = ComputeOf<E>;
    const E* x;
    E* out;
    const T* base;
    const T* scale;
    HWY_INLINE void operator()(int64_t j, int64_t n) const {
        const Vec<T> centred = load_up_to(x + j, n) - load_up_to(base + j, n);
        const Vec<T> factor = load_up_to(scale + j, n);
        if constexpr (kLogarithm)
            store_up_to(centred - factor, out + j, n);
        else
            store_up_to(exp_below(centred) * factor, out + j, n);
    }
};

template <bool kLogarithm, class E>
void write_columns(const E* x, E* out, int64_t size, int64_t stride, int64_t columns, const PowerSums& sums,
                   const double* factors) {
    using T = ComputeOf<E>;
    HWY_ALIGN T base[kSoftmaxColumns];
    HWY_ALIGN T scale[kSoftmaxColumns];
    for (int64_t j = 0; j < columns; ++j) base[j] = static_cast<T>(sums.base[j]);
    for (int64_t j = 0; kLogarithm && j < columns; ++j) scale[j] = static_cast<T>(std::log(sums.sum[j]));
    for (int64_t j = 0; !kLogarithm && j < columns; ++j) {
        scale[j] = static_cast<T>((factors == nullptr ? 1 : factors[j]) / sums.sum[j]);
    }
    for (int64_t k = 0; k < size; ++k) {
        for_each_vector<E>(columns, WriteRow<kLogarithm, E>{x + k * stride, out + k * stride, base, scale});
    }
}

template <class E>
void columns(const E* x, E* out, int64_t size, int64_t stride, int64_t count, const PowerSums& sums,
             const double* factors) {
    write_columns<false>(x, out, size, stride, count, sums, factors);
}
template <class E>
void log_columns(const E* x, E* out, int64_t size, int64_t stride, int64_t count, const PowerSums& sums) {
    write_columns<true>(x, out, size, stride, count, sums, nullptr);
}

/// g, or g * y
template <bool kLogarithm, class E>
struct GradientTerm {
    using T = ComputeOf<E>;
    const E* g;
    const E* y;
    HWY_INLINE void operator()(int64_t i, int64_t n, Vec<T>* terms) const {
        const Vec<T> slope = load_up_to(g + i, n);
        terms[0] = kLogarithm ? slope : slope * load_up_to(y + i, n);
    }
};

template <bool kLogarithm, class V>
HWY_INLINE V gradient_of(V g, V y, V sum) {
    if constexpr (kLogarithm)
        return g - exp(y) * sum;
    else
        return y * (g - sum);
}

template <bool kLogarithm, class E>
struct WriteGradient {
    using T = ComputeOf<E>;
    const E* g;
    const E* y;
    E* grad;
    Vec<T> sum;
    HWY_INLINE void operator()(int64_t i, int64_t n) const {
        store_up_to(gradient_of<kLogarithm>(load_up_to(g + i, n), load_up_to(y + i, n), sum), grad + i, n);
    }
};

template <bool kLogarithm, class E>
HWY_INLINE void row_gradient(const E* g, const E* y, E* grad, int64_t n) {
    using T = ComputeOf<E>;
    Sums<T, 1> sums;
    sums.add(n, GradientTerm<kLogarithm, E>{g, y});
    for_each_vector<E>(n, WriteGradient<kLogarithm, E>{g, y, grad, set(static_cast<T>(sums.total(0)))});
}

template <class E>
void gradient_row(const E* g, const E* y, E* grad, int64_t n, bool logarithm) {
    if (logarithm)
        row_gradient<true>(g, y, grad, n);
    else
        row_gradient<false>(g, y, grad, n);
}

/// Adds one row to the sums of the columns.
template <bool kLogarithm, class E>
struct AddTerms {
    using T = ComputeOf<E>;
    GradientTerm<kLogarithm, E> term;
    Columns<T>& sums;
    HWY_INLINE void operator()(int64_t j, int64_t n) const {
        const Tag<T> d;
        Vec<T> terms[1];
        term(j, n, terms);
        hn::Store(hn::Load(d, sums.part + j) + terms[0], d, sums.part + j);
    }
};

/// One row of the gradient of columns.
template <bool kLogarithm, class E>
struct WriteGradientRow {
    using T = ComputeOf<E>;
    const E* g;
    const E* y;
    E* grad;
    const T* sums;
    HWY_INLINE void operator()(int64_t j, int64_t n) const {
        const Vec<T> sum = hn::Load(Tag<T>(), sums + j);
        store_up_to(gradient_of<kLogarithm>(load_up_to(g + j, n), load_up_to(y + j, n), sum), grad + j, n);
    }
};

template <bool kLogarithm, class E>
HWY_INLINE void column_gradients(const E* g, const E* y, E* grad, int64_t size, int64_t stride, int64_t columns) {
    using T = ComputeOf<E>;
    Columns<T> sums(columns);
    for (int64_t k = 0; k < size; ++k) {
        const int64_t at = k * stride;
        for_each_vector<E>(columns, AddTerms<kLogarithm, E>{{g + at, y + at}, sums});
        if ((k + 1) % kRowPart == 0 || k + 1 == size) sums.join(columns);
    }
    for (int64_t j = 0; j < columns; ++j) sums.part[j] = static_cast<T>(sums.total[j]);
    for (int64_t k = 0; k < size; ++k) {
        const int64_t at = k * stride;
        for_each_vector<E>(columns, WriteGradientRow<kLogarithm, E>{g + at, y + at, grad + at, sums.part});
    }
}

template <class E>
void gradient_columns(const E* g, const E* y, E* grad, int64_t size, int64_t stride, int64_t columns, bool logarithm) {
    if (logarithm)
        column_gradients<true>(g, y, grad, size, stride, columns);
    else
        column_gradients<false>(g, y, grad, size, stride, columns);
}

template <class E>
constexpr SoftmaxKernels<E> kernels_of() {
    return {sum_row<E>, row<E>,         log_row<E>,      sum_columns<E>,
            columns<E>, log_columns<E>, gradient_row<E>, gradient_columns<E>};
}

SoftmaxTable Kernels() {
    return {kernels_of<float>(), kernels_of<double>(), kernels_of<Half>(), kernels_of<Bfloat16>()};
}

}  // namespace

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diopi::cpu {

DIOPI_BEST(SoftmaxTable, softmax_table)

}  // namespace diopi::cpu
#endif
