/// A tensor that is being filled: numbers are made tile by tile in one type and stored in the tensor's dtype.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/format.hpp"
#include "core/tensor.hpp"

namespace diopi {

/// counter_high for values, and for the pattern of a sparse tensor.
inline constexpr uint64_t kValueStream = 0;
inline constexpr uint64_t kPatternStream = 1;
/// The count of numbers that are made, then converted, at a time.
inline constexpr int64_t kTile = 4096;

/// Integers are drawn up to this magnitude.
inline constexpr double kIntegerLimit = 0x1p62;
/// The finite values of a component that are furthest from 0; for integers at most 2^62 in magnitude.
[[nodiscard]] double largest(Dtype component);
[[nodiscard]] double least(Dtype component);

/// Converts a tile to `component`; floating values are rounded once to nearest even, integers truncate and saturate,
/// NaN is 0. The float form is for floating components other than float64 only.
void store(Dtype component, std::span<const float> from, std::byte* to);
void store(Dtype component, std::span<const double> from, std::byte* to);
void store(Dtype component, std::span<const int32_t> from, std::byte* to);
void store(Dtype component, std::span<const int64_t> from, std::byte* to);

/// A contiguous tensor that is being filled.
struct FillTarget {
    const TensorSpec& spec;
    Dtype component;
    int64_t count;  ///< elements
    std::byte* bytes;
};

enum class Parts { kBoth, kReal };

/// Makes the numbers tile by tile with make(first, span) and stores them; kReal leaves imaginary parts 0.
template <class T, class Make>
void fill_tiles(const FillTarget& target, Parts parts, Make make) {
    const bool complex = is_complex(target.spec.dtype);
    const bool interleave = complex && parts == Parts::kReal;
    const int64_t total = complex && !interleave ? 2 * target.count : target.count;
    const auto step = static_cast<int64_t>(size_of(target.component)) * (interleave ? 2 : 1);
    alignas(64) T tile[kTile];
    alignas(64) T pairs[2 * kTile];
    for (int64_t first = 0; first < total; first += kTile) {
        const auto n = static_cast<size_t>(std::min(kTile, total - first));
        make(first, std::span<T>(tile, n));
        if (interleave) {
            for (size_t i = 0; i < n; ++i) {
                pairs[2 * i] = tile[i];
                pairs[2 * i + 1] = T{0};
            }
        }
        const std::span<const T> numbers = interleave ? std::span<const T>(pairs, 2 * n) : std::span<const T>(tile, n);
        store(target.component, numbers, target.bytes + first * step);
    }
}

}  // namespace diopi
