/// The distances of an output's elements from the exact values, in ulp.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/tensor.hpp"

namespace diopi {

struct UlpHistogram {
    /// Upper edges of the bins, in ulp of the output dtype at the exact value.
    static constexpr std::array<double, 8> kEdges = {0.5, 1, 2, 4, 8, 16, 64, 1024};
    /// "<=0.5", ..., ">1024", "NaN/Inf" (not finite where the exact value is, or the other way round).
    static constexpr std::array<std::string_view, 10> kTitles = {"<=0.5", "<=1",  "<=2",    "<=4",   "<=8",
                                                                 "<=16",  "<=64", "<=1024", ">1024", "NaN/Inf"};
    std::array<int64_t, kTitles.size()> counts{};

    /// Counts an element with this distance; NaN for one that is not finite where the exact value is, or the other way
    /// round.
    void count(double ulps);
    void add(const UlpHistogram& other);
    [[nodiscard]] int64_t total() const;
    /// The mean error, with each element at the upper edge of its bin and 4096 beyond: the smaller one is closer.
    [[nodiscard]] double mean() const;
    bool operator==(const UlpHistogram&) const = default;
};

/// Both are contiguous host tensors of one shape; `exact` is float64 or complex128, `actual` floating or complex. Real
/// and imaginary parts count as elements. Errors are counted in ulp of `unit`, a dtype of the same kind as that of
/// `actual`.
[[nodiscard]] UlpHistogram ulp_histogram(const Tensor& actual, const Tensor& exact, Dtype unit);
[[nodiscard]] inline UlpHistogram ulp_histogram(const Tensor& actual, const Tensor& exact) {
    return ulp_histogram(actual, exact, actual.dtype);
}

}  // namespace diopi
