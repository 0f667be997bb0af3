/// Whole numbers that have the order of elements, sorted together with the elements' places.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

namespace diopi::cpu {

/// Keys: NaN is the greatest, and zeros of both signs are equal.
inline uint32_t key_of(float x) {
    const auto bits = std::bit_cast<uint32_t>(x + 0.0F);
    if (x != x) return std::numeric_limits<uint32_t>::max();
    return (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
}
inline uint64_t key_of(double x) {
    const auto bits = std::bit_cast<uint64_t>(x + 0.0);
    if (x != x) return std::numeric_limits<uint64_t>::max();
    return (bits >> 63) != 0 ? ~bits : bits | 0x8000000000000000U;
}
inline uint64_t key_of(int64_t x) { return static_cast<uint64_t>(x) ^ 0x8000000000000000U; }
inline uint32_t key_of(int32_t x) { return static_cast<uint32_t>(x) ^ 0x80000000U; }
inline uint64_t key_of(uint64_t x) { return x; }

/// A key of 32 bits and its place in one number; places of longer rows need more.
struct Packed {
    uint64_t bits;
    Packed() = default;
    Packed(uint32_t key, int64_t place) : bits(uint64_t{key} << 32 | static_cast<uint64_t>(place)) {}
    [[nodiscard]] int64_t place() const { return static_cast<int64_t>(bits & 0xffffffffU); }
    [[nodiscard]] uint32_t key() const { return static_cast<uint32_t>(bits >> 32); }
    bool operator<(const Packed& other) const { return bits < other.bits; }
};
struct Pair {
    uint64_t number;
    int64_t at;
    Pair() = default;
    Pair(uint64_t key, int64_t place) : number(key), at(place) {}
    [[nodiscard]] uint64_t key() const { return number; }
    [[nodiscard]] int64_t place() const { return at; }
    bool operator<(const Pair& other) const { return number != other.number ? number < other.number : at < other.at; }
};

/// Keys are distributed by 11 bits at a time, from the lowest to the highest, where there are kRadixFrom items for each
/// time. Measured on an AMD EPYC (Zen 5) guest.
constexpr size_t kRadixFrom = 230;
constexpr size_t kDigitBits = 11;

/// Sorts items whose places ascend.
template <class Item>
void sort_all(std::vector<Item>& items, std::vector<Item>& other) {
    using Key = decltype(items[0].key());
    constexpr size_t kValues = size_t{1} << kDigitBits, kDigits = (8 * sizeof(Key) + kDigitBits - 1) / kDigitBits;
    if (items.size() < kRadixFrom * kDigits) return std::sort(items.begin(), items.end());
    using Count = std::conditional_t<std::is_same_v<Item, Packed>, uint32_t, size_t>;
    std::vector<Count> counts(kDigits * kValues, 0);
    const auto digit = [](const Item& item, size_t d) {
        return static_cast<size_t>(item.key() >> (d * kDigitBits)) & (kValues - 1);
    };
    for (const Item& item : items) {
        for (size_t d = 0; d < kDigits; ++d) ++counts[d * kValues + digit(item, d)];
    }
    other.resize(items.size());
    for (size_t d = 0; d < kDigits; ++d) {
        Count* count = counts.data() + d * kValues;
        if (count[digit(items[0], d)] == items.size()) continue;  // all have the same digit
        Count before = 0;
        for (size_t v = 0; v < kValues; ++v) before += std::exchange(count[v], before);
        for (const Item& item : items) other[count[digit(item, d)]++] = item;
        items.swap(other);
    }
}

}  // namespace diopi::cpu
