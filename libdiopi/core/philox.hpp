/// Philox 4x32-10, the counter-based generator behind every random number here: the same key and counter give the same
/// numbers on every machine, thread count and device. Source: Salmon et al., SC 2011 (Random123).
#pragma once

#include <Random123/philox.h>

#include <array>
#include <cstdint>

namespace diopi {

/// Four 32-bit words for counter (`low`, `high`) under `key`.
[[nodiscard]] inline std::array<uint32_t, 4> philox(uint64_t key, uint64_t low, uint64_t high) {
    const r123::Philox4x32::ctr_type counter = {{static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
                                                 static_cast<uint32_t>(high), static_cast<uint32_t>(high >> 32)}};
    const r123::Philox4x32::key_type words = {{static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)}};
    const auto out = r123::Philox4x32()(counter, words);
    return {out[0], out[1], out[2], out[3]};
}

/// A double in (0, 1], from 53 bits of two words.
[[nodiscard]] inline double unit_double(uint32_t high, uint32_t low) {
    const uint64_t bits = ((uint64_t{high} << 32) | low) >> 11;
    return static_cast<double>(bits + 1) * 0x1p-53;
}

}  // namespace diopi
