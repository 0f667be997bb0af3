/// Counts of bytes.
#pragma once

#include <cstdint>
#include <span>

namespace diopi {

/// Bytes that are not `pattern`.
[[nodiscard]] int64_t count_others(std::span<const uint8_t> bytes, int pattern);
/// Bytes that differ from those at the same places of `others`, which are as many.
[[nodiscard]] int64_t count_different(std::span<const uint8_t> bytes, std::span<const uint8_t> others);

}  // namespace diopi
