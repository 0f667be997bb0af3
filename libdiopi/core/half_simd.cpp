#include "core/half_simd.hpp"

#include "core/instruction_sets.hpp"

namespace diopi {

namespace {

/// Bits of the nearest binary16, ties to even.
uint16_t half_bits(float x) {
    const auto bits = std::bit_cast<uint32_t>(x);
    const uint32_t magnitude = bits & 0x7fffffffu;
    // Normal: re-bias the exponent by -112 and round at bit 13. Denormal: adding 0.5 puts the last place where
    // binary16 has it, so that the addition rounds.
    const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    const uint32_t denormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
    const uint32_t special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
    const uint32_t finite = magnitude < 0x38800000u ? denormal : normal;
    const uint32_t rounded = magnitude < 0x477ff000u ? finite : special;  // 65520 and more round to infinity
    return static_cast<uint16_t>(rounded | ((bits >> 16) & 0x8000u));
}

/// x as a float32 whose last bit is 1 where bits were lost ("round to odd"): rounding it to fewer bits gives what
/// rounding x gives. Exact for the normal numbers of float32. Source: S. Boldo, G. Melquiond, Emulation of FMA and
/// correctly rounded sums: proved algorithms using rounding to odd.
float rounded_to_odd(double x) {
    constexpr uint64_t kLost = 0x1fffffff;
    const auto bits = std::bit_cast<uint64_t>(x);
    const uint64_t odd = (bits & ~kLost) | ((bits & kLost) != 0 ? kLost + 1 : 0);
    return static_cast<float>(std::bit_cast<double>(odd));
}

uint16_t bfloat_bits(double x) {
    const auto bits = std::bit_cast<uint32_t>(rounded_to_odd(x));
    const uint32_t normal = ((bits & 0x7fffffffu) + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    // The last place of the sum is that of a denormal bfloat16, so that the addition rounds.
    const auto sum = std::bit_cast<uint64_t>(std::bit_cast<double>(std::bit_cast<uint64_t>(x) << 1 >> 1) + 0x1.8p-81);
    const uint32_t denormal = static_cast<uint32_t>(sum) & 0xffffu;
    const uint32_t finite = ((bits & 0x7fffffffu) < 0x00800000u ? denormal : normal) | ((bits >> 16) & 0x8000u);
    return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : finite);
}

void halves_of_doubles(const double* __restrict from, int64_t n, Half* __restrict to) {
    for (int64_t i = 0; i < n; ++i) to[i].bits = half_bits(rounded_to_odd(from[i]));
}
void bfloats_of_doubles(const double* __restrict from, int64_t n, Bfloat16* __restrict to) {
    for (int64_t i = 0; i < n; ++i) to[i].bits = bfloat_bits(from[i]);
}
void halves_of_floats(const float* __restrict from, int64_t n, Half* __restrict to) {
    for (int64_t i = 0; i < n; ++i) to[i].bits = half_bits(from[i]);
}
void bfloats_of_floats(const float* __restrict from, int64_t n, Bfloat16* __restrict to) {
    for (int64_t i = 0; i < n; ++i) {
        const auto bits = std::bit_cast<uint32_t>(from[i]);
        const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
        const uint32_t nan = (bits >> 16) | 0x40u;
        to[i].bits = static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
    }
}

}  // namespace

void to_half(std::span<const double> from, Half* to) { best<halves_of_doubles>()(from.data(), std::ssize(from), to); }
void to_bfloat16(std::span<const double> from, Bfloat16* to) {
    best<bfloats_of_doubles>()(from.data(), std::ssize(from), to);
}
void to_half(std::span<const float> from, Half* to) { best<halves_of_floats>()(from.data(), std::ssize(from), to); }
void to_bfloat16(std::span<const float> from, Bfloat16* to) {
    best<bfloats_of_floats>()(from.data(), std::ssize(from), to);
}

}  // namespace diopi
