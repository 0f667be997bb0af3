/// The loops over channels on Highway's vectors. Sums are parts in the compute type, joined in double.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/norm_channels.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>

#include "kernels/cpu/norm_channels.hpp"
#include "kernels/cpu/vector_sums-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace {

/// Channels that are summed side by side when they are last, and rows between two steps in double.
constexpr int64_t kSideBySide = 128, kRowPart = 128;

/// x. Each term is that of the elements from `at` on; `n` of the lanes are valid.
template <class E>
struct SumTerm {
    using Element = E;
    static constexpr int kSums = 1;
    static constexpr bool kHasMean = false;
    const E* x;
    HWY_INLINE void operator()(int64_t at, int64_t n, Vec<ComputeOf<E>> /*mean*/, Vec<ComputeOf<E>>* terms) const {
        terms[0] = load_up_to(x + at, n);
    }
};

/// (x - mean)^2
template <class E>
struct SquareTerm {
    using Element = E;
    static constexpr int kSums = 1;
    static constexpr bool kHasMean = true;
    const E* x;
    HWY_INLINE void operator()(int64_t at, int64_t n, Vec<ComputeOf<E>> mean, Vec<ComputeOf<E>>* terms) const {
        const Vec<ComputeOf<E>> d = load_up_to(x + at, n) - mean;
        terms[0] = d * d;
    }
};

/// g, and g * (x - mean)
template <class E>
struct GradientTerms {
    using Element = E;
    static constexpr int kSums = 2;
    static constexpr bool kHasMean = true;
    const E* g;
    const E* x;
    HWY_INLINE void operator()(int64_t at, int64_t n, Vec<ComputeOf<E>> mean, Vec<ComputeOf<E>>* terms) const {
        terms[0] = load_up_to(g + at, n);
        terms[1] = terms[0] * (load_up_to(x + at, n) - mean);
    }
};

/// The terms of a plane, which has one mean.
template <class Term>
struct PlaneTerms {
    using T = ComputeOf<typename Term::Element>;
    Term term;
    int64_t plane;
    Vec<T> mean;
    HWY_INLINE void operator()(int64_t i, int64_t n, Vec<T>* terms) const {
        term(plane + i, n, mean, terms);
        if (n == kLanesOf<T>) return;
        const auto is_valid = hn::FirstN(Tag<T>(), static_cast<size_t>(n));
        for (int k = 0; k < Term::kSums; ++k) terms[k] = hn::IfThenElseZero(is_valid, terms[k]);
    }
};

/// Adds kRows rows, whose channels are last, to the sums of each channel.
template <int kRows, class Term>
struct AddRows {
    using T = ComputeOf<typename Term::Element>;
    Term term;
    int64_t row, pitch;
    const T* mean;
    T (*parts)[kSideBySide];  ///< kSums arrays
    HWY_INLINE void operator()(int64_t j, int64_t n) const {
        const Tag<T> d;
        Vec<T> centre = hn::Zero(d);
        if constexpr (Term::kHasMean) centre = load_up_to(mean + j, n);
        Vec<T> sums[Term::kSums], terms[Term::kSums];
        for (int k = 0; k < Term::kSums; ++k) sums[k] = hn::Load(d, parts[k] + j);
        for (int r = 0; r < kRows; ++r) {
            term(row + r * pitch + j, n, centre, terms);
            for (int k = 0; k < Term::kSums; ++k) sums[k] = sums[k] + terms[k];
        }
        for (int k = 0; k < Term::kSums; ++k) hn::Store(sums[k], d, parts[k] + j);
    }
};

/// results[k][c] = the sums over channel c; `mean` of each channel.
template <class Term, class T>
HWY_INLINE void sum_planes(const ChannelShape& s, int64_t first, int64_t last, const Term& term, const T* mean,
                           double* const* results) {
    for (int64_t c = first; c < last; ++c) {
        Sums<T, Term::kSums> sums;
        const Vec<T> centre = set(Term::kHasMean ? mean[c] : T{0});
        for (int64_t n = 0; n < s.count; ++n) {
            sums.add(s.inner, PlaneTerms<Term>{term, (n * s.channels + c) * s.inner, centre});
        }
        for (int k = 0; k < Term::kSums; ++k) results[k][c] = sums.total(k);
    }
}

/// The same of at most kSideBySide channels from `first` on, which are last.
template <class Term, class T>
HWY_INLINE void sum_side_by_side(const ChannelShape& s, int64_t first, int64_t channels, const Term& term,
                                 const T* mean, double* const* results) {
    HWY_ALIGN T parts[Term::kSums][kSideBySide] = {};
    const T* means = Term::kHasMean ? mean + first : nullptr;
    for (int k = 0; k < Term::kSums; ++k) std::fill_n(results[k] + first, channels, 0.0);
    int64_t row = 0;
    while (row < s.per_channel()) {
        const int64_t end = std::min(row + kRowPart, s.per_channel());
        for (; row + 4 <= end; row += 4) {
            for_each_vector<T>(channels, AddRows<4, Term>{term, row * s.channels + first, s.channels, means, parts});
        }
        for (; row < end; ++row) {
            for_each_vector<T>(channels, AddRows<1, Term>{term, row * s.channels + first, s.channels, means, parts});
        }
        for (int k = 0; k < Term::kSums; ++k) {
            for (int64_t c = 0; c < channels; ++c) results[k][first + c] += static_cast<double>(parts[k][c]);
            std::fill_n(parts[k], channels, T{0});
        }
    }
}

template <class Term, class T>
HWY_INLINE void sum_channels(const ChannelShape& s, int64_t first, int64_t last, const Term& term, const T* mean,
                             double* const* results) {
    if (s.layout == Layout::plain) return sum_planes(s, first, last, term, mean, results);
    for (; first < last; first += kSideBySide) {
        sum_side_by_side(s, first, std::min(kSideBySide, last - first), term, mean, results);
    }
}

template <class E>
void sums(const ChannelShape& s, int64_t first, int64_t last, const E* x, double* sums) {
    sum_channels(s, first, last, SumTerm<E>{x}, static_cast<const ComputeOf<E>*>(nullptr), &sums);
}

template <class E>
void squares(const ChannelShape& s, int64_t first, int64_t last, const E* x, const ComputeOf<E>* mean,
             double* squares) {
    sum_channels(s, first, last, SquareTerm<E>{x}, mean, &squares);
}

template <class E>
void gradient_sums(const ChannelShape& s, int64_t first, int64_t last, const E* g, const E* x, const ComputeOf<E>* mean,
                   double* sums, double* products) {
    double* const results[] = {sums, products};
    sum_channels(s, first, last, GradientTerms<E>{g, x}, mean, results);
}

/// A factor of one channel, or those of neighbouring channels.
template <class T>
struct OfChannel {
    Vec<T> factor;
    HWY_INLINE OfChannel(const T* factors, int64_t channel) : factor(set(factors[channel])) {}
    HWY_INLINE Vec<T> operator()(int64_t, int64_t) const { return factor; }
};
template <class T>
struct OfChannels {
    const T* factors;
    HWY_INLINE OfChannels(const T* all, int64_t) : factors(all) {}
    HWY_INLINE Vec<T> operator()(int64_t j, int64_t n) const { return load_up_to(factors + j, n); }
};

template <class E, class Factor>
struct WriteNormalized {
    const E* x;
    E* out;
    Factor mean, scale, shift;
    HWY_INLINE void operator()(int64_t i, int64_t n) const {
        store_up_to(hn::MulAdd(load_up_to(x + i, n) - mean(i, n), scale(i, n), shift(i, n)), out + i, n);
    }
};

template <class Factor, class E>
HWY_INLINE void normalize_runs(const ChannelShape& s, int64_t first, int64_t last, const E* x, const ComputeOf<E>* mean,
                               const ComputeOf<E>* scale, const ComputeOf<E>* shift, E* out) {
    const int64_t n = s.run_length();
    for (int64_t run = first; run < last; ++run) {
        const int64_t c = run % s.channels;
        for_each_vector<E>(n,
                           WriteNormalized<E, Factor>{x + run * n, out + run * n, {mean, c}, {scale, c}, {shift, c}});
    }
}

template <class E>
void normalize(const ChannelShape& s, int64_t first, int64_t last, const E* x, const ComputeOf<E>* mean,
               const ComputeOf<E>* scale, const ComputeOf<E>* shift, E* out) {
    using T = ComputeOf<E>;
    if (s.layout == Layout::plain)
        normalize_runs<OfChannel<T>>(s, first, last, x, mean, scale, shift, out);
    else
        normalize_runs<OfChannels<T>>(s, first, last, x, mean, scale, shift, out);
}

template <class E, class Factor>
struct WriteGradient {
    const E* g;
    const E* x;
    E* grad;
    Factor mean, shift, slope, scale;
    HWY_INLINE void write(Vec<ComputeOf<E>> moved, int64_t i, int64_t n) const {
        const auto centred = load_up_to(x + i, n) - mean(i, n);
        store_up_to(hn::NegMulAdd(centred, slope(i, n), moved) * scale(i, n), grad + i, n);
    }
    HWY_INLINE void operator()(int64_t i, int64_t n) const { write(load_up_to(g + i, n) - shift(i, n), i, n); }
};

template <class E, class Factor>
struct WriteWeightedGradient {
    WriteGradient<E, Factor> gradient;
    Factor weight;
    HWY_INLINE void operator()(int64_t i, int64_t n) const {
        gradient.write(hn::MulSub(load_up_to(gradient.g + i, n), weight(i, n), gradient.shift(i, n)), i, n);
    }
};

template <class Factor, class E>
HWY_INLINE void gradient_runs(const ChannelShape& s, int64_t first, int64_t last, const E* g, const E* x,
                              const ComputeOf<E>* mean, const ComputeOf<E>* shift, const ComputeOf<E>* slope,
                              const ComputeOf<E>* scale, const ComputeOf<E>* weight, E* grad) {
    const int64_t n = s.run_length();
    for (int64_t run = first; run < last; ++run) {
        const int64_t c = run % s.channels, at = run * n;
        const WriteGradient<E, Factor> write{g + at, x + at, grad + at, {mean, c}, {shift, c}, {slope, c}, {scale, c}};
        if (weight == nullptr)
            for_each_vector<E>(n, write);
        else
            for_each_vector<E>(n, WriteWeightedGradient<E, Factor>{write, {weight, c}});
    }
}

template <class E>
void gradient(const ChannelShape& s, int64_t first, int64_t last, const E* g, const E* x, const ComputeOf<E>* mean,
              const ComputeOf<E>* shift, const ComputeOf<E>* slope, const ComputeOf<E>* scale,
              const ComputeOf<E>* weight, E* grad) {
    using T = ComputeOf<E>;
    if (s.layout == Layout::plain)
        gradient_runs<OfChannel<T>>(s, first, last, g, x, mean, shift, slope, scale, weight, grad);
    else
        gradient_runs<OfChannels<T>>(s, first, last, g, x, mean, shift, slope, scale, weight, grad);
}

template <class E>
constexpr ChannelKernels<E, ComputeOf<E>> kernels_of() {
    return {sums<E>, squares<E>, gradient_sums<E>, normalize<E>, gradient<E>};
}

ChannelTable Kernels() {
    return {kernels_of<float>(), kernels_of<double>(), kernels_of<Half>(), kernels_of<Bfloat16>()};
}

}  // namespace

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diopi::cpu {

DIOPI_BEST(ChannelTable, channel_table)

template <class T>
void channel_sums(const ChannelShape& shape, const T* x, double* sums) {
    const auto& kernels = std::get<ChannelKernels<T, T>>(channel_table());
    for_channels(shape, [&](int64_t first, int64_t last) { kernels.sums(shape, first, last, x, sums); });
}
template void channel_sums(const ChannelShape& shape, const float* x, double* sums);
template void channel_sums(const ChannelShape& shape, const double* x, double* sums);

}  // namespace diopi::cpu
#endif
