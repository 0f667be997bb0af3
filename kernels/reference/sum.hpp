/// Sums whose error grows little with their length.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/reference/inexact.hpp"

namespace diopi::reference {

/// Sum of n values, pairwise over blocks: the error grows with log n, and eight partial sums let the loop vectorise.
template <class T, class Term>
[[nodiscard]] T pairwise_sum(int64_t n, const Term& term, int64_t first = 0) {
    if constexpr (std::is_same_v<T, Inexact>) {
        double total = 0, errors = 0, magnitudes = 0, terms = 0;
#pragma omp simd reduction(+ : total, errors, magnitudes, terms)
        for (int64_t i = first; i < first + n; ++i) {
            const Inexact x = term(i);
            total += x.value;
            errors += x.error;
            magnitudes += std::fabs(x.value);
            terms += x.is_zero() ? 0.0 : 1.0;
        }
        return Sum<T>({total, errors, magnitudes, terms}).value();
    }
    constexpr int64_t kBlock = 512;
    constexpr int64_t kLanes = 8;
    if (n > kBlock) {
        const int64_t half = n / 2 / kLanes * kLanes;
        return pairwise_sum<T>(half, term, first) + pairwise_sum<T>(n - half, term, first + half);
    }
    T lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        for (int64_t k = 0; k < kLanes; ++k) lanes[k] += term(first + i + k);
    }
    T sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
    for (; i < n; ++i) sum += term(first + i);
    return sum;
}

}  // namespace diopi::reference
