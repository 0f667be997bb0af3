/// The sizes of hard cases of attention to cached keys and values.
#pragma once

#include <array>
#include <cstdint>

namespace diopi {

/// The sizes at the boundaries of blocks of keys; the last one is too many keys for large heads.
inline constexpr std::array<int64_t, 9> kKeyCounts = {5, 1, 2, 63, 64, 65, 130, 17, 1'000};
inline constexpr std::array<int64_t, 8> kHeadDims = {32, 64, 1, 7, 33, 128, 100, 256};
inline constexpr std::array<int64_t, 8> kKeyHeads = {2, 1, 3, 1, 2, 1, 1, 4}, kGroups = {1, 4, 2, 8, 4, 3, 5, 2};

}  // namespace diopi
