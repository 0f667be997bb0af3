/// Conversion from one dtype to another, a tile at a time.
#pragma once

#include <cstdint>

#include "core/dtype.hpp"

namespace diopi::cpu {

/// Elements of a tile.
constexpr int64_t kTile = 1024;

/// A bool operand in a tile: one byte, 0 or 1.
enum class Bool : uint8_t { kFalse = 0, kTrue = 1 };

/// Converts n contiguous elements.
using Convert = void (*)(const void* from, void* to, int64_t n);
/// Those between the half types and float32, of the best instruction set of this machine.
struct HalfConverters {
    Convert half_to_float, float_to_half, bfloat16_to_float, float_to_bfloat16;
};
[[nodiscard]] const HalfConverters& half_converters();

/// Null if there is no direct conversion: one of the dtypes must be float32, float64, int64 or complex128.
[[nodiscard]] Convert converter(Dtype from, Dtype to);

}  // namespace diopi::cpu
