/// What sliding and adaptive maxima share: the steps of a search, and the gradient, which follows the places.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cpu/pool_planes.hpp"
#include "kernels/operands/pool.hpp"

namespace diopi::cpu {

template <class T>
using IndexOf = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

/// Joins one tap into the running maxima of `n` places that lie `step` elements apart in the input. A NaN wins over
/// what came before it, the first of equals stays.
template <class T, bool kIndexed, int64_t kStep>
void join_tap(const T* tap, int64_t step, IndexOf<T> index, int64_t n, T* best, IndexOf<T>* where) {
    const int64_t s = kStep == 0 ? step : kStep;
    for (int64_t x = 0; x < n; ++x) {
        const T value = tap[x * s];
        const bool wins = (value > best[x]) | (value != value);
        best[x] = wins ? value : best[x];
        if constexpr (kIndexed) {
            const auto place = static_cast<IndexOf<T>>(index + static_cast<IndexOf<T>>(x * s));
            where[x] = wins ? place : where[x];
        }
    }
}

/// With the channels last: one tap for `n` channels at once.
template <class T, bool kIndexed>
void join_channels(const T* tap, IndexOf<T> index, int64_t n, T* best, IndexOf<T>* where) {
    for (int64_t c = 0; c < n; ++c) {
        const bool wins = (tap[c] > best[c]) | (tap[c] != tap[c]);
        best[c] = wins ? tap[c] : best[c];
        if constexpr (kIndexed) where[c] = wins ? index : where[c];
    }
}

/// in = 0, then each element of out is added at its place in the plane; refuses a place that no plane has.
[[nodiscard]] diopiError_t add_at_maxima(diopiContextHandle_t ctx, std::string_view op, const PoolImages& p);

}  // namespace diopi::cpu
