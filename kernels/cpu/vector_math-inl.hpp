/// Elementary functions of four float64 numbers, for float32 results. The arguments are float32 numbers, so that
/// denormals of float64 do not occur; the error is below 2^-40, which rounds to less than 0.51 ulp.
#pragma once

#include <cmath>

#include "kernels/cpu/gemm_vector.hpp"

namespace diopi::cpu {

/// b where the mask is set, else a.
[[nodiscard]] inline __m256d select(__m256d a, __m256d b, __m256d mask) { return _mm256_blendv_pd(a, b, mask); }
[[nodiscard]] inline __m256d absolute(__m256d x) { return _mm256_andnot_pd(spread(-0.0), x); }
[[nodiscard]] inline __m256d with_sign_of(__m256d magnitude, __m256d x) {
    return _mm256_or_pd(absolute(magnitude), _mm256_and_pd(spread(-0.0), x));
}

/// Calls f on each lane.
template <class F>
[[nodiscard]] inline __m256d each(__m256d x, F f) {
    alignas(32) double lanes[4];
    store(lanes, x);
    for (double& lane : lanes) lane = f(lane);
    return load(lanes);
}

/// log(x): x = m 2^e with m in [sqrt(1/2), sqrt(2)), then the series of atanh((m - 1) / (m + 1)).
[[nodiscard]] inline __m256d log(__m256d x) {
    const __m256i bits = _mm256_castpd_si256(x);
    const __m256i one = _mm256_castpd_si256(spread(1.0));
    const __m256i fraction = _mm256_and_si256(bits, _mm256_set1_epi64x(0x000fffffffffffff));
    __m256d m = _mm256_castsi256_pd(_mm256_or_si256(fraction, one));
    // An exponent below 2^52 is converted to a number as the fraction bits of 2^52.
    const __m256i biased = _mm256_or_si256(_mm256_srli_epi64(bits, 52), _mm256_castpd_si256(spread(0x1p52)));
    __m256d e = _mm256_castsi256_pd(biased) - spread(0x1p52 + 1023);
    const __m256d large = _mm256_cmp_pd(m, spread(1.4142135623730951), _CMP_GT_OQ);
    m = select(m, m * spread(0.5), large);
    e = select(e, e + spread(1.0), large);
    const __m256d s = (m - spread(1.0)) / (m + spread(1.0));
    const __m256d z = s * s;
    __m256d p = spread(1.0 / 19);
    for (const double c : {1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0}) {
        p = fma(p, z, spread(c));
    }
    __m256d y = fma(e, spread(0.6931471805599453), (s + s) * p);
    y = select(y, spread(-HUGE_VAL), _mm256_cmp_pd(x, spread(0.0), _CMP_EQ_OQ));
    y = select(y, spread(std::nan("")), _mm256_cmp_pd(x, spread(0.0), _CMP_NGE_UQ));
    return select(y, x, _mm256_cmp_pd(x, spread(HUGE_VAL), _CMP_EQ_OQ));
}

/// sin(x + quarters pi / 2): x minus the nearest multiple of pi / 2, the Taylor polynomials of sine and cosine. Beyond
/// 2^20, where two parts of pi / 2 are not precise enough, it calls the C library.
[[nodiscard]] inline __m256d sine(__m256d x, int quarters) {
    const __m256d near = _mm256_cmp_pd(absolute(x), spread(0x1p20), _CMP_LE_OQ);
    if (_mm256_movemask_pd(near) != 15) {
        return each(x, [quarters](double lane) { return quarters == 0 ? std::sin(lane) : std::cos(lane); });
    }
    const __m256d k = _mm256_round_pd(x * spread(0.6366197723675814), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256d r = fma(k, spread(-1.5707963267948966), x);
    r = fma(k, spread(-6.123233995736766e-17), r);
    const __m256d z = r * r;
    __m256d sin = spread(-1.0 / 1307674368000), cos = spread(-1.0 / 87178291200);
    for (const double c : {1.0 / 6227020800, -1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6}) {
        sin = fma(sin, z, spread(c));
    }
    sin = fma(r * z, sin, r);
    for (const double c : {1.0 / 479001600, -1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24, -0.5, 1.0}) {
        cos = fma(cos, z, spread(c));
    }
    const __m256i quadrant = _mm256_cvtepi32_epi64(_mm_add_epi32(_mm256_cvtpd_epi32(k), _mm_set1_epi32(quarters)));
    const __m256d odd = _mm256_castsi256_pd(_mm256_slli_epi64(quadrant, 63));
    const __m256i sign = _mm256_slli_epi64(_mm256_srli_epi64(quadrant, 1), 63);
    return _mm256_xor_pd(select(sin, cos, odd), _mm256_castsi256_pd(sign));
}

}  // namespace diopi::cpu
