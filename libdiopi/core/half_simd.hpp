/// Conversions of whole arrays to the 16-bit formats, branch-free so that the compiler vectorises them.
#pragma once

#include <span>

#include "core/half.hpp"

namespace diopi {

/// The bits of to_half(float), to_bfloat16(float) for each element, except that every NaN becomes 0x7e00 with its sign.
void to_half(std::span<const float> from, Half* to);
void to_bfloat16(std::span<const float> from, Bfloat16* to);

/// The bits of to_half(double), to_bfloat16(double) for each element.
void to_half(std::span<const double> from, Half* to);
void to_bfloat16(std::span<const double> from, Bfloat16* to);

}  // namespace diopi
