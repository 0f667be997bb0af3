/// The parts that sliding and adaptive maxima have in common: the steps of a search, and the gradient, which is added
/// at the places of the maxima.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

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

template <class T>
struct Maximum {
    T value;
    IndexOf<T> place;
};

/// Whether any of n elements is greater than `most`, or NaN.
template <class T>
[[nodiscard]] bool any_wins(const T* x, int64_t n, T most) {
    int wins = 0;
    for (int64_t i = 0; i < n; ++i) wins |= static_cast<int>(x[i] > most) | static_cast<int>(x[i] != x[i]);
    return wins != 0;
}

/// The maximum of the columns first, first + step, ... before `last` of the row that begins at `begin` in the plane.
template <class T>
[[nodiscard]] Maximum<T> search_columns(const T* plane, int64_t begin, int64_t first, int64_t last, int64_t step) {
    const T* row = plane + begin;
    // Most blocks of a long row hold nothing greater than what came before.
    constexpr int64_t kBlock = 32;
    int64_t place = first;
    T most = row[first];
    for (int64_t c = first + step; c < last;) {
        if (step == 1 && c + kBlock <= last && !any_wins(row + c, kBlock, most)) {
            c += kBlock;
            continue;
        }
        const int64_t end = std::min(c + kBlock * step, last);
        for (; c < end; c += step) {
            if (row[c] > most || row[c] != row[c]) most = row[c], place = c;
        }
    }
    return {most, static_cast<IndexOf<T>>(begin + place)};
}

/// The maximum of each column of some rows, and its place in the plane.
template <class T>
struct ColumnMaxima {
    std::vector<T> best;
    std::vector<IndexOf<T>> where;

    /// With the first row, which begins at `begin` in the plane.
    void start(const T* plane, int64_t begin, int64_t size) {
        best.assign(plane + begin, plane + begin + size);
        where.resize(best.size());
        std::iota(where.begin(), where.end(), static_cast<IndexOf<T>>(begin));
    }
    void join(const T* plane, int64_t begin) {
        join_tap<T, true, 1>(plane + begin, 1, static_cast<IndexOf<T>>(begin), std::ssize(best), best.data(),
                             where.data());
    }
    /// The first place of equal maxima in row-major order, and the last of NaNs.
    [[nodiscard]] Maximum<T> search(int64_t first, int64_t last, int64_t step) const {
        auto at = static_cast<size_t>(first);
        Maximum<T> most{best[at], where[at]};
        for (int64_t c = first + step; c < last; c += step) {
            at = static_cast<size_t>(c);
            const bool is_nan = best[at] != best[at], was_nan = most.value != most.value;
            const bool wins = is_nan ? !was_nan || where[at] > most.place
                                     : best[at] > most.value || (best[at] == most.value && where[at] < most.place);
            if (wins) most = {best[at], where[at]};
        }
        return most;
    }
};

/// in = 0, then each element of out is added at its place in the plane; refuses a place that no plane has.
[[nodiscard]] diopiError_t add_at_maxima(diopiContextHandle_t ctx, std::string_view op, const PoolImages& p);

}  // namespace diopi::cpu
