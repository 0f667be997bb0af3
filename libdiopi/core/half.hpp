/// float16 and bfloat16 as plain storage types with exact conversions, rounding to nearest, ties to even.
#pragma once

#include <bit>
#include <cstdint>

namespace diopi {

/// IEEE binary16 bits.
struct Half {
    uint16_t bits = 0;
};

/// The upper 16 bits of an IEEE binary32.
struct Bfloat16 {
    uint16_t bits = 0;
};

[[nodiscard]] inline float to_float(Bfloat16 x) { return std::bit_cast<float>(uint32_t{x.bits} << 16); }

[[nodiscard]] inline float to_float(Half x) {
    const uint32_t sign = uint32_t{x.bits & 0x8000u} << 16;
    const uint32_t magnitude = x.bits & 0x7fffu;
    if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
    // 2^112 re-biases the exponent; the multiplication also normalises a denormal.
    const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
}

/// Rounds a double directly to `significand` bits with least exponent `min_exponent` (of a normal number), so that no
/// second rounding through float32 happens. Values beyond `largest` become infinite.
[[nodiscard]] double round_to_precision(double x, int significand, int min_exponent, double largest);

[[nodiscard]] Half to_half(double x);
[[nodiscard]] Bfloat16 to_bfloat16(double x);
[[nodiscard]] inline Bfloat16 to_bfloat16(float x) {
    const auto bits = std::bit_cast<uint32_t>(x);
    const uint32_t nan = bits | 0x400000u, rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    return {static_cast<uint16_t>((x != x ? nan : rounded) >> 16)};
}
[[nodiscard]] Half to_half(float x);

}  // namespace diopi
