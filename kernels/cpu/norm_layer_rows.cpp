/// The loops of layer_norm on Highway's vectors. Sums are parts in the compute type, joined in double; the statistics
/// read a row twice, so that the variance does not cancel.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/norm_layer_rows.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cmath>

#include "kernels/cpu/norm_layer_rows.hpp"
#include "kernels/cpu/vector_sums-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace {

/// Rows whose columns are summed in the compute type, and those that are read together.
constexpr int64_t kRowPart = 128;
constexpr int kTogether = 4;

/// xhat = (x - mean) * scale + shift; the shift adds the part of the mean that its rounding removed.
template <class T>
struct Centre {
    T mean, scale, shift;

    static Centre of(RowStatistics row) {
        const T mean = static_cast<T>(row.mean);
        const double rest = (static_cast<double>(mean) - row.mean) * row.invstd;
        return {mean, static_cast<T>(row.invstd), static_cast<T>(std::isfinite(rest) ? rest : 0)};
    }
};

template <class T>
struct Normalize {
    Vec<T> mean, scale, shift;
    Normalize() = default;
    HWY_INLINE explicit Normalize(const Centre<T>& c) : mean(set(c.mean)), scale(set(c.scale)), shift(set(c.shift)) {}
    HWY_INLINE Vec<T> operator()(Vec<T> x) const { return hn::MulAdd(x - mean, scale, shift); }
};

template <class E>
struct Element {
    using T = ComputeOf<E>;
    const E* x;
    HWY_INLINE void operator()(int64_t i, int64_t n, Vec<T>* terms) const { terms[0] = load_up_to(x + i, n); }
};

template <class E>
struct SquaredDistance {
    using T = ComputeOf<E>;
    const E* x;
    T mean;
    HWY_INLINE void operator()(int64_t i, int64_t n, Vec<T>* terms) const {
        const Vec<T> d = load_up_to(x + i, n, mean) - set(mean);
        terms[0] = d * d;
    }
};

template <class E>
RowStatistics statistics(const E* x, int64_t n, double eps) {
    using T = ComputeOf<E>;
    const auto count = static_cast<double>(n);
    Sums<T, 1> sum, squares;
    sum.add(n, Element<E>{x});
    const double mean = sum.total(0) / count;
    squares.add(n, SquaredDistance<E>{x, static_cast<T>(mean)});
    return {mean, 1 / std::sqrt(squares.total(0) / count + eps)};
}

template <class E>
struct WriteNormalized {
    using T = ComputeOf<E>;
    const E* x;
    const T* weight;
    const T* bias;
    E* out;
    Normalize<T> normalize;
    HWY_INLINE void operator()(int64_t i, int64_t n) const {
        const Vec<T> xhat = normalize(load_up_to(x + i, n));
        store_up_to(hn::MulAdd(xhat, load_up_to(weight + i, n), load_up_to(bias + i, n)), out + i, n);
    }
};

template <class E>
RowStatistics forward(const E* x, const ComputeOf<E>* weight, const ComputeOf<E>* bias, E* out, int64_t n, double eps) {
    using T = ComputeOf<E>;
    const RowStatistics row = statistics(x, n, eps);
    for_each_vector<E>(n, WriteNormalized<E>{x, weight, bias, out, Normalize<T>(Centre<T>::of(row))});
    return row;
}

/// h, and h * xhat
template <class E>
struct GradientTerms {
    using T = ComputeOf<E>;
    const E* g;
    const E* x;
    const T* weight;
    T mean;
    Normalize<T> normalize;
    HWY_INLINE void operator()(int64_t i, int64_t n, Vec<T>* terms) const {
        terms[0] = load_up_to(g + i, n) * load_up_to(weight + i, n);
        terms[1] = terms[0] * normalize(load_up_to(x + i, n, mean));
    }
};

template <class E>
struct WriteGradient {
    using T = ComputeOf<E>;
    GradientTerms<E> terms;
    E* grad;
    Vec<T> invstd, average, slope;
    HWY_INLINE void operator()(int64_t i, int64_t n) const {
        const Vec<T> h = load_up_to(terms.g + i, n) * load_up_to(terms.weight + i, n);
        const Vec<T> xhat = terms.normalize(load_up_to(terms.x + i, n));
        store_up_to(invstd * hn::NegMulAdd(xhat, slope, h - average), grad + i, n);
    }
};

template <class E>
void backward(const E* g, const E* x, const ComputeOf<E>* weight, E* grad, int64_t n, RowStatistics row) {
    using T = ComputeOf<E>;
    const auto count = static_cast<double>(n);
    const Centre<T> centre = Centre<T>::of(row);
    const GradientTerms<E> terms{g, x, weight, centre.mean, Normalize<T>(centre)};
    Sums<T, 2> sums;
    sums.add(n, terms);
    const Vec<T> average = set(static_cast<T>(sums.total(0) / count));
    const Vec<T> slope = set(static_cast<T>(sums.total(1) / count));
    for_each_vector<E>(n, WriteGradient<E>{terms, grad, set(centre.scale), average, slope});
}

/// Sums of columns: of the last rows in the compute type, and of all before.
template <class T>
struct ColumnSums {
    HWY_ALIGN T part[kColumnBlock] = {};
    double total[kColumnBlock] = {};

    void join(int64_t columns) {
        for (int64_t j = 0; j < columns; ++j) {
            total[j] += static_cast<double>(part[j]);
            part[j] = 0;
        }
    }
};

/// Adds kRows rows to the sums of g * xhat and of g.
template <int kRows, class E>
struct AddRows {
    using T = ComputeOf<E>;
    const E* g;
    const E* x;
    int64_t pitch;
    const Normalize<T>* rows;
    T* products;
    T* sums;
    HWY_INLINE void operator()(int64_t j, int64_t n) const {
        const Tag<T> d;
        Vec<T> sum = hn::Load(d, sums + j), product = hn::Load(d, products + j);
        for (int k = 0; k < kRows; ++k) {
            const Vec<T> slope = load_up_to(g + k * pitch + j, n);
            product = hn::MulAdd(slope, rows[k](load_up_to(x + k * pitch + j, n)), product);
            sum = sum + slope;
        }
        hn::Store(sum, d, sums + j);
        hn::Store(product, d, products + j);
    }
};

template <int kRows, class E>
HWY_INLINE void add_rows(const E* g, const E* x, int64_t pitch, const double* mean, const double* invstd,
                         int64_t columns, ComputeOf<E>* products, ComputeOf<E>* sums) {
    using T = ComputeOf<E>;
    Normalize<T> rows[kRows];
    for (int k = 0; k < kRows; ++k) rows[k] = Normalize<T>(Centre<T>::of({mean[k], invstd[k]}));
    for_each_vector<E>(columns, AddRows<kRows, E>{g, x, pitch, rows, products, sums});
}

template <class E>
void column_sums(const E* g, const E* x, int64_t rows, int64_t pitch, const double* mean, const double* invstd,
                 int64_t columns, double* products, double* sums) {
    ColumnSums<ComputeOf<E>> product, sum;
    int64_t r = 0;
    while (r < rows) {
        const int64_t end = std::min(rows, r + kRowPart);
        for (; r + kTogether <= end; r += kTogether) {
            add_rows<kTogether>(g + r * pitch, x + r * pitch, pitch, mean + r, invstd + r, columns, product.part,
                                sum.part);
        }
        for (; r < end; ++r) {
            add_rows<1>(g + r * pitch, x + r * pitch, pitch, mean + r, invstd + r, columns, product.part, sum.part);
        }
        product.join(columns);
        sum.join(columns);
    }
    std::copy_n(product.total, columns, products);
    std::copy_n(sum.total, columns, sums);
}

template <class E>
constexpr LayerNormKernels<E, ComputeOf<E>> kernels_of() {
    return {forward<E>, backward<E>, column_sums<E>};
}

LayerNormTable Kernels() {
    return {kernels_of<float>(), kernels_of<double>(), kernels_of<Half>(), kernels_of<Bfloat16>()};
}

}  // namespace

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diopi::cpu {

DIOPI_BEST(LayerNormTable, layer_norm_table)

}  // namespace diopi::cpu
#endif
