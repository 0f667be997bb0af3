/// The loops over rows of scores on Highway's vectors.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_flash_rows.cpp"
#include <hwy/foreach_target.h>

#include <limits>

#include "kernels/cpu/attention_flash_rows.hpp"
#include "kernels/cpu/vector_math-inl.hpp"
#include "kernels/cpu/vector_sums-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace {

template <class T>
struct Score {
    T* s;
    Vec<T> scale, slope, place;  ///< place: 0 - p, 1 - p, ...
    Vec<T> most;
    HWY_INLINE void operator()(int64_t i, int64_t n) {
        const Vec<T> apart = absolute(place + set(static_cast<T>(i)));
        const Vec<T> score = hn::NegMulAdd(slope, apart, scale * load_up_to(s + i, n));
        store_up_to(score, s + i, n);
        const Vec<T> lowest = set(-std::numeric_limits<T>::infinity());
        const auto is_there = hn::FirstN(Tag<T>(), static_cast<size_t>(n));
        most = hn::Max(hn::IfThenElse(is_there, score, lowest), most);
    }
};

template <class T>
T score(T* s, int64_t n, T scale, T slope, T p) {
    const Tag<T> d;
    Score<T> body{s, set(scale), set(slope), hn::Iota(d, 0) - set(p), set(-std::numeric_limits<T>::infinity())};
    for_each_vector<T>(n, body);
    return hn::GetLane(hn::MaxOfLanes(d, body.most));
}

template <class T>
struct Power {
    T* s;
    Vec<T> base;
    HWY_INLINE void operator()(int64_t i, int64_t n, Vec<T>* terms) const {
        const Vec<T> power = exp_below(load_up_to(s + i, n) - base);
        store_up_to(power, s + i, n);
        terms[0] = n < kLanesOf<T> ? hn::IfThenElseZero(hn::FirstN(Tag<T>(), static_cast<size_t>(n)), power) : power;
    }
};

template <class T>
double powers(T* s, int64_t n, T base) {
    Sums<T, 1> sums;
    sums.add(n, Power<T>{s, set(base)});
    return sums.total(0);
}

template <class T>
struct Share {
    T* s;
    Vec<T> base;
    HWY_INLINE void operator()(int64_t i, int64_t n) const { store_up_to(exp(load_up_to(s + i, n) - base), s + i, n); }
};

template <class T>
void shares(T* s, int64_t n, T base) {
    for_each_vector<T>(n, Share<T>{s, set(base)});
}

template <class T>
struct Slope {
    const T* p;
    T* g;
    Vec<T> mean, scale;
    HWY_INLINE void operator()(int64_t i, int64_t n) const {
        store_up_to(load_up_to(p + i, n) * (load_up_to(g + i, n) - mean) * scale, g + i, n);
    }
};

template <class T>
void slopes(const T* p, T* g, int64_t n, T mean, T scale) {
    for_each_vector<T>(n, Slope<T>{p, g, set(mean), set(scale)});
}

template <class T>
constexpr AttentionRowKernels<T> kernels_of() {
    return {score<T>, powers<T>, shares<T>, slopes<T>};
}

AttentionRowTable Kernels() { return {kernels_of<float>(), kernels_of<double>()}; }

}  // namespace

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diopi::cpu {

DIOPI_BEST(AttentionRowTable, attention_row_table)

}  // namespace diopi::cpu
#endif
