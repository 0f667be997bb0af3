/// Sums of rows, and the width of reductions along columns.
#pragma once

#include <cstdint>

#include "kernels/cpu/read_ahead.hpp"
#include "kernels/cpu/tile.hpp"

namespace diopi::cpu {

/// Measured on an AMD EPYC (Zen 4) guest.
constexpr int64_t kSumLanes = 32;         ///< partial sums of a row: 8 AVX registers of double
constexpr int64_t kColumnsAtOnce = 4096;  ///< that a reduction works on: rows far apart are then read in long runs

/// The sum of 2 * kHalf numbers, which it overwrites.
template <int64_t kHalf, class Sum>
[[gnu::always_inline]] inline Sum folded(Sum* lanes) {
    for (int64_t l = 0; l < kHalf; ++l) lanes[l] += lanes[l + kHalf];
    if constexpr (kHalf == 1)
        return lanes[0];
    else
        return folded<kHalf / 2>(lanes);
}

/// The sum of term(x) over n elements x, in kSumLanes partial sums. If `kGrouped`, four terms of a float are added up
/// in float32 before they join a sum: two or three roundings to float32 are fewer than those of a pairwise sum. The
/// terms must not overflow: a sum that is not finite is to be formed again without groups.
template <bool kGrouped, class Sum, class Element, class Term>
[[gnu::always_inline]] inline Sum sum_lanes(const Element* x, int64_t n, Term term) {
    const auto wide = [&](int64_t k) { return term(static_cast<Sum>(widened(x[k]))); };
    Sum lanes[kSumLanes] = {};
    int64_t i = 0;
    if constexpr (kGrouped) {
        constexpr int64_t kGroup = 4;
        const auto at = [&](int64_t k) { return term(widened(x[k])); };
        for (; i + kGroup * kSumLanes <= n; i += kGroup * kSumLanes) {
            read_ahead(x + i, kGroup * kSumLanes);
            for (int64_t l = 0; l < kSumLanes; ++l) {
                const int64_t k = i + l;
                lanes[l] +=
                    static_cast<Sum>((at(k) + at(k + kSumLanes)) + (at(k + 2 * kSumLanes) + at(k + 3 * kSumLanes)));
            }
        }
    }
    for (; i + kSumLanes <= n; i += kSumLanes) {
        for (int64_t l = 0; l < kSumLanes; ++l) lanes[l] += wide(i + l);
    }
    for (int64_t l = 0; i < n; ++i, ++l) lanes[l] += wide(i);
    return folded<kSumLanes / 2>(lanes);
}

}  // namespace diopi::cpu
