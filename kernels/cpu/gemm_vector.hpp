/// Vectors of 32 bytes for loops that the compiler does not vectorise: sums, whose order it must keep, and exp.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstdint>

namespace diopi::cpu {

template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
    using Type = __m256;
};
template <>
struct VectorOf<double> {
    using Type = __m256d;
};
template <class T>
using Vector = typename VectorOf<T>::Type;
template <class T>
constexpr int64_t kLanes = 32 / static_cast<int64_t>(sizeof(T));

[[nodiscard]] inline __m256 load(const float* p) { return _mm256_loadu_ps(p); }
[[nodiscard]] inline __m256d load(const double* p) { return _mm256_loadu_pd(p); }
inline void store(float* p, __m256 v) { _mm256_storeu_ps(p, v); }
inline void store(double* p, __m256d v) { _mm256_storeu_pd(p, v); }
[[nodiscard]] inline __m256 spread(float x) { return _mm256_set1_ps(x); }
[[nodiscard]] inline __m256d spread(double x) { return _mm256_set1_pd(x); }
[[nodiscard]] inline __m256 fma(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
[[nodiscard]] inline __m256d fma(__m256d a, __m256d b, __m256d c) { return _mm256_fmadd_pd(a, b, c); }
/// b where a or b is NaN.
[[nodiscard]] inline __m256 max(__m256 a, __m256 b) { return _mm256_max_ps(a, b); }
[[nodiscard]] inline __m256d max(__m256d a, __m256d b) { return _mm256_max_pd(a, b); }

/// All bits set in the first `n` lanes.
template <class T>
[[nodiscard]] __m256i lane_mask(int64_t n) {
    alignas(32) static constexpr int32_t kMask[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    const int64_t words = n * static_cast<int64_t>(sizeof(T) / sizeof(int32_t));
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMask + 8 - words));
}

/// The first `n` elements of a vector; the other lanes are `rest`.
[[nodiscard]] inline __m256 load_part(const float* p, int64_t n, float rest) {
    const __m256i mask = lane_mask<float>(n);
    return _mm256_blendv_ps(spread(rest), _mm256_maskload_ps(p, mask), _mm256_castsi256_ps(mask));
}
[[nodiscard]] inline __m256d load_part(const double* p, int64_t n, double rest) {
    const __m256i mask = lane_mask<double>(n);
    return _mm256_blendv_pd(spread(rest), _mm256_maskload_pd(p, mask), _mm256_castsi256_pd(mask));
}
inline void store_part(float* p, __m256 v, int64_t n) { _mm256_maskstore_ps(p, lane_mask<float>(n), v); }
inline void store_part(double* p, __m256d v, int64_t n) { _mm256_maskstore_pd(p, lane_mask<double>(n), v); }

/// The sum of the lanes, in double.
template <class T>
[[nodiscard]] double lane_sum(Vector<T> v) {
    alignas(32) T lanes[kLanes<T>];
    store(lanes, v);
    double sum = 0;
    for (const T x : lanes) sum += static_cast<double>(x);
    return sum;
}

/// Sum over i < n of term(vector of elements i.., number of valid lanes). Parts of kPart elements are summed in the
/// lanes of four vectors of T, the parts in double. term must give 0 in lanes that are not valid.
template <class T, class Term>
[[nodiscard]] double sum_of(int64_t n, Term&& term) {
    constexpr int64_t kPart = 4096;
    double total = 0;
    for (int64_t start = 0; start < n; start += kPart) {
        const int64_t end = std::min(n, start + kPart);
        Vector<T> sums[4] = {};
        int64_t i = start;
        for (; i + 4 * kLanes<T> <= end; i += 4 * kLanes<T>) {
            for (int64_t k = 0; k < 4; ++k) sums[k] += term(i + k * kLanes<T>, kLanes<T>);
        }
        for (; i < end; i += kLanes<T>) sums[0] += term(i, std::min(kLanes<T>, end - i));
        total += lane_sum<T>((sums[0] + sums[1]) + (sums[2] + sums[3]));
    }
    return total;
}

/// A whole vector, or its valid lanes with the others set to `rest`.
template <class T>
[[nodiscard]] inline Vector<T> load_up_to(const T* p, int64_t n, T rest = 0) {
    return n == kLanes<T> ? load(p) : load_part(p, n, rest);
}

/// exp(x) within 1 ulp: x = k ln 2 + r, Taylor's polynomial for r, two factors for 2^k so that denormals are correct.
/// NaN stays. Meant for x <= 0, but correct for all x.
[[nodiscard]] inline __m256 exp(__m256 x) {
    x = max(spread(-104.0F), x);
    x = _mm256_blendv_ps(_mm256_min_ps(spread(89.0F), x), x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    const __m256 k = _mm256_round_ps(x * spread(1.44269504F), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 r = fma(k, spread(-0.693145752F), x);
    r = fma(k, spread(-1.42860677e-6F), r);
    __m256 p = spread(1.0F / 5040);
    for (const float c : {1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F}) p = fma(p, r, spread(c));
    const __m256i whole = _mm256_cvtps_epi32(k);
    const __m256i half = _mm256_srai_epi32(whole, 1);
    const auto power = [](__m256i e) {
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(e, _mm256_set1_epi32(127)), 23));
    };
    return p * power(half) * power(_mm256_sub_epi32(whole, half));
}

[[nodiscard]] inline __m256d exp(__m256d x) {
    x = max(spread(-746.0), x);
    x = _mm256_blendv_pd(_mm256_min_pd(spread(710.0), x), x, _mm256_cmp_pd(x, x, _CMP_UNORD_Q));
    const __m256d k = _mm256_round_pd(x * spread(1.4426950408889634), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256d r = fma(k, spread(-0x1.62e42fefa38p-1), x);
    r = fma(k, spread(-0x1.ef35793c7673p-45), r);
    __m256d p = spread(1.0 / 6227020800);
    for (const double c : {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                           1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0}) {
        p = fma(p, r, spread(c));
    }
    const __m128i whole = _mm256_cvtpd_epi32(k);
    const __m128i half = _mm_srai_epi32(whole, 1);
    const auto power = [](__m128i e) {
        return _mm256_castsi256_pd(
            _mm256_slli_epi64(_mm256_cvtepi32_epi64(_mm_add_epi32(e, _mm_set1_epi32(1023))), 52));
    };
    return p * power(half) * power(_mm_sub_epi32(whole, half));
}

}  // namespace diopi::cpu
