/// Fills whose elements are independent of each other: normals, masks, constants, lists of values.
#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "cases/fills.hpp"
#include "core/normal.hpp"

namespace diopi {

namespace {

template <std::floating_point T>
void fill_normal(const FillTarget& target, uint64_t key) {
    fill_tiles<T>(target, Parts::kBoth,
                  [&](int64_t first, std::span<T> out) { normal_block(key, kValueStream, first, out); });
}

template <std::floating_point T>
void fill_positive(const FillTarget& target, uint64_t key) {
    fill_tiles<T>(target, Parts::kBoth, [&](int64_t first, std::span<T> out) {
        normal_block(key, kValueStream, first, out);
        for (T& x : out) x = std::max(std::fabs(x), T{0x1p-24});
    });
}

/// 4x to the nearest integer, ties to even: adding 1.5 * 2^23 leaves the integer in the low bits.
int32_t round_normal(float x) {
    return static_cast<int32_t>(std::bit_cast<uint32_t>(4.0f * x + 0x1.8p23f) - 0x4b400000u);
}

/// Integers that `convert` makes of normals.
template <class Convert>
void fill_rounded(const FillTarget& target, uint64_t key, Convert convert) {
    fill_tiles<int32_t>(target, Parts::kBoth, [&](int64_t first, std::span<int32_t> out) {
        alignas(64) float normals[kTile];
        normal_block(key, kValueStream, first, std::span<float>(normals, out.size()));
        for (size_t i = 0; i < out.size(); ++i) out[i] = convert(normals[i]);
    });
}

void fill_integer_normal(const FillTarget& target, uint64_t key) {
    if (target.component == Dtype::boolean) {
        return fill_rounded(target, key,
                            [](float x) { return static_cast<int32_t>(std::bit_cast<uint32_t>(x) >> 31); });
    }
    if (!is_unsigned(target.component)) {
        return fill_rounded(target, key, [](float x) { return round_normal(x); });
    }
    fill_rounded(target, key, [](float x) { return std::abs(round_normal(x)); });
}

/// T: float for the 16-bit formats, for speed; else int32_t.
template <class T>
void fill_bits(const FillTarget& target, uint64_t key, Parts parts) {
    fill_tiles<T>(target, parts, [&](int64_t first, std::span<T> out) {
        alignas(64) uint32_t words[kTile];
        word_block(key, kValueStream, first, std::span<uint32_t>(words, out.size()));
        for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(static_cast<int32_t>(words[i] >> 31));
    });
}

}  // namespace

void fill_randn(const FillTarget& target, uint64_t key) {
    if (!is_floating(target.component)) return fill_integer_normal(target, key);
    target.component == Dtype::float64 ? fill_normal<double>(target, key) : fill_normal<float>(target, key);
}

void fill_magnitude(const FillTarget& target, uint64_t key) {
    if (target.component == Dtype::float64) return fill_positive<double>(target, key);
    if (is_floating(target.component)) return fill_positive<float>(target, key);
    fill_rounded(target, key, [](float x) { return std::abs(round_normal(x)); });
}

void fill_mask(const FillTarget& target, uint64_t key, Parts parts) {
    is_half(target.component) ? fill_bits<float>(target, key, parts) : fill_bits<int32_t>(target, key, parts);
}

void fill_constant(const FillTarget& target, int32_t value) {
    fill_tiles<int32_t>(target, Parts::kReal, [=](int64_t, std::span<int32_t> out) { std::ranges::fill(out, value); });
}

/// Values that must not be read: NaN, 0xA5 bytes, true.
void fill_poison(const FillTarget& target) {
    if (is_integer(target.component)) {
        std::memset(target.bytes, 0xA5, static_cast<size_t>(target.count) * size_of(target.component));
        return;
    }
    fill_tiles<double>(target, Parts::kBoth, [](int64_t, std::span<double> out) {
        std::ranges::fill(out, std::numeric_limits<double>::quiet_NaN());
    });
}

void fill_doubles(const FillTarget& target, const std::vector<double>& values) {
    fill_tiles<double>(target, Parts::kReal, [&](int64_t first, std::span<double> out) {
        std::copy_n(values.begin() + first, out.size(), out.begin());
    });
}

}  // namespace diopi
