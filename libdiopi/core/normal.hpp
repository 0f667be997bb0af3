/// Uniform and normal numbers from Philox 4x32-10, the same bits on every machine, at any split of the work and in any
/// language: a number depends only on (key, counter_high, index).
///
/// The mapping, which kernels elsewhere (CUDA) repeat. Block b is philox(key, b, counter_high): words w0, w1, w2, w3.
///   words      element 4b + j = wj
///   float      uniform: element 4b + j = unit_interval(wj)
///              normal: elements 4b, 4b+1 = r cos, r sin with r = sqrt(radius_squared(w0)), angle turn(w1);
///                      elements 4b+2, 4b+3 the same with w2, w3
///   double     uniform: element 2b = unit_interval(w0, w1), element 2b+1 = unit_interval(w2, w3)
///              normal: elements 2b, 2b+1 = r cos, r sin with r = sqrt(radius_squared(w0, w1)), angle turn(w2, w3)
/// Everything is made of integer operations and of + - * / sqrt in IEEE arithmetic, rounded to nearest, with no
/// contraction to fused multiply-add (-ffp-contract=off, nvcc: -fmad=false) and no call of a mathematics library.
/// Normals: Box and Muller, 1958; absolute error below 1e-6 (float), 1e-14 (double); |x| is at most 5.77 and 8.58.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace diopi {

/// Words `first`, `first` + 1, ... of the sequence.
void word_block(uint64_t key, uint64_t counter_high, int64_t first, std::span<uint32_t> out);
/// Uniform numbers in [0, 1): multiples of 2^-24 (float) and 2^-53 (double).
void uniform_block(uint64_t key, uint64_t counter_high, int64_t first, std::span<float> out);
void uniform_block(uint64_t key, uint64_t counter_high, int64_t first, std::span<double> out);
/// Standard normal numbers. `first` >= 0 is the index of out[0] in the sequence.
void normal_block(uint64_t key, uint64_t counter_high, int64_t first, std::span<float> out);
void normal_block(uint64_t key, uint64_t counter_high, int64_t first, std::span<double> out);

/// Cosine and sine of one angle.
template <class T>
struct Direction {
    T cos, sin;
};

/// [0, 1) from the upper 24 bits.
constexpr float unit_interval(uint32_t word) { return static_cast<float>(static_cast<int32_t>(word >> 8)) * 0x1p-24f; }

/// x < 2^52 as a double; written with bits because AVX2 has no such conversion.
constexpr double small_to_double(uint64_t x) { return std::bit_cast<double>(x | 0x4330000000000000u) - 0x1p52; }

/// [0, 1) from the upper 53 bits of (high, low).
constexpr double unit_interval(uint32_t high, uint32_t low) {
    return (small_to_double(high) * 0x1p21 + small_to_double(low >> 11)) * 0x1p-53;
}

/// ln(x) for a positive normal x, within 1 ulp. Formula and coefficients: fdlibm, e_log.c.
constexpr double log_positive(double x) {
    constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcdu;  // x = 2^e m, m in [sqrt(1/2), sqrt(2))
    const auto bits = std::bit_cast<uint64_t>(x);
    const uint64_t biased = (bits - kSqrtHalf + (uint64_t{1024} << 52)) >> 52;
    const double e = small_to_double(biased) - 1024.0;
    const double f = std::bit_cast<double>(bits - ((biased - 1024) << 52)) - 1.0;
    const double s = f / (2.0 + f);
    const double z = s * s;
    const double w = z * z;
    const double odd =
        z * (6.666666666666735130e-01 +
             w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    const double even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    const double half_square = 0.5 * f * f;
    return e * 6.93147180369123816490e-01 -
           ((half_square - (s * (half_square + (odd + even)) + e * 1.90821492927058770002e-10)) - f);
}

/// -2 ln(u), u = (1 + the word's upper 24 bits) / 2^24 in (0, 1]. Polynomial: Cephes, logf.c.
constexpr float radius_squared(uint32_t word) {
    const auto bits = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>((word >> 8) + 1)) * 0x1p-24f);
    const int32_t exponent = static_cast<int32_t>(bits - 0x3f3504f3u) >> 23;
    const float e = static_cast<float>(exponent);
    const float f = std::bit_cast<float>(bits - (static_cast<uint32_t>(exponent) << 23)) - 1.0f;
    const float z = f * f;
    float p = 7.0376836292e-2f;
    p = p * f - 1.1514610310e-1f;
    p = p * f + 1.1676998740e-1f;
    p = p * f - 1.2420140846e-1f;
    p = p * f + 1.4249322787e-1f;
    p = p * f - 1.6668057665e-1f;
    p = p * f + 2.0000714765e-1f;
    p = p * f - 2.4999993993e-1f;
    p = p * f + 3.3333331174e-1f;
    const float tail = (p * f * z + e * -2.12194440e-4f) - 0.5f * z;
    return -2.0f * ((f + tail) + e * 0.693359375f);
}

/// -2 ln(u), u = (1 + the upper 53 bits of (high, low)) / 2^53 in (0, 1].
constexpr double radius_squared(uint32_t high, uint32_t low) {
    return -2.0 * log_positive(((small_to_double(high) * 0x1p21 + small_to_double(low >> 11)) + 1.0) * 0x1p-53);
}

/// The point at word / 2^32 of a full turn: the nearest quarter turn exactly in integers, the rest by polynomials on
/// [-pi/4, pi/4]. Coefficients: Cephes, sinf.c.
constexpr Direction<float> turn(uint32_t word) {
    const uint32_t quarter = (word + (1u << 29)) >> 30;
    const float x = static_cast<float>(static_cast<int32_t>(word - (quarter << 30))) * 0x1.921fb6p-30f;
    const float z = x * x;
    const float s = x + x * (z * (-1.6666654611e-1f + z * (8.3321608736e-3f + z * -1.9515295891e-4f)));
    const float c =
        (1.0f - 0.5f * z) + z * z * (4.166664568298827e-2f + z * (-1.388731625493765e-3f + z * 2.443315711809948e-5f));
    const auto cos_bits = std::bit_cast<uint32_t>(c);
    const auto sin_bits = std::bit_cast<uint32_t>(s);
    const uint32_t swap = 0u - (quarter & 1u);
    const uint32_t across = (cos_bits ^ sin_bits) & swap;
    return {std::bit_cast<float>((cos_bits ^ across) ^ (((quarter + 1u) & 2u) << 30)),
            std::bit_cast<float>((sin_bits ^ across) ^ ((quarter & 2u) << 30))};
}

/// The point at (high, low) / 2^64 of a full turn. Coefficients: fdlibm, k_sin.c and k_cos.c.
constexpr Direction<double> turn(uint32_t high, uint32_t low) {
    const uint64_t shifted = ((uint64_t{high} << 32) | low) + (uint64_t{1} << 61);
    const uint64_t quarter = shifted >> 62;
    const uint64_t rest = (shifted & ((uint64_t{1} << 62) - 1)) >> 10;
    const double x = (small_to_double(rest) - 0x1p51) * 0x1.921fb54442d18p-52;
    const double z = x * x;
    const double s =
        x + x * (z * (-1.66666666666666324348e-01 +
                      z * (8.33333333332248946124e-03 +
                           z * (-1.98412698298579493134e-04 +
                                z * (2.75573137070700676789e-06 +
                                     z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10))))));
    const double c =
        (1.0 - 0.5 * z) + z * z *
                              (4.16666666666666019037e-02 +
                               z * (-1.38888888888741095749e-03 +
                                    z * (2.48015872894767294178e-05 +
                                         z * (-2.75573143513906633035e-07 +
                                              z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))));
    const auto cos_bits = std::bit_cast<uint64_t>(c);
    const auto sin_bits = std::bit_cast<uint64_t>(s);
    const uint64_t swap = uint64_t{0} - (quarter & 1u);
    const uint64_t across = (cos_bits ^ sin_bits) & swap;
    return {std::bit_cast<double>((cos_bits ^ across) ^ (((quarter + 1u) & 2u) << 62)),
            std::bit_cast<double>((sin_bits ^ across) ^ ((quarter & 2u) << 62))};
}

}  // namespace diopi
