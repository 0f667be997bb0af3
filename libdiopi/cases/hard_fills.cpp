/// Fills that are hard to compute with: magnitudes of every size, ties of roundings, sums that cancel.
#include <array>
#include <bit>
#include <cmath>

#include "cases/fills.hpp"
#include "core/normal.hpp"

namespace diopi {

namespace {

/// Two random words for each component.
struct Words {
    uint32_t first, second;

    /// Uniform in [0, count).
    [[nodiscard]] int64_t below(int64_t count) const {
        return static_cast<int64_t>((uint64_t{first} * static_cast<uint64_t>(count)) >> 32);
    }
    /// Uniform in [0, 1).
    [[nodiscard]] double share() const { return std::ldexp(second, -32); }
    [[nodiscard]] double with_sign(double magnitude) const { return (first & 1) != 0 ? -magnitude : magnitude; }
};

/// Makes each component from its position and two words: make(position, words).
template <class T, class Make>
void fill_from_words(const FillTarget& target, uint64_t key, Make make) {
    fill_tiles<T>(target, Parts::kBoth, [&](int64_t first, std::span<T> out) {
        alignas(64) std::array<uint32_t, 2 * kTile> words;
        word_block(key, kValueStream, 2 * first, std::span<uint32_t>(words.data(), 2 * out.size()));
        for (size_t i = 0; i < out.size(); ++i) {
            out[i] = make(first + static_cast<int64_t>(i), Words{words[2 * i], words[2 * i + 1]});
        }
    });
}

/// Integers of every number of bits.
void fill_integers_of_all_sizes(const FillTarget& target, uint64_t key) {
    const auto top = static_cast<uint64_t>(largest(target.component));
    const bool is_signed = !is_unsigned(target.component);
    fill_from_words<int64_t>(target, key, [=](int64_t, const Words& words) {
        const uint64_t bits = (uint64_t{words.second} << 32) | words.first;
        const auto magnitude = static_cast<int64_t>((bits & top) >> words.below(std::bit_width(top)));
        return is_signed && (words.first & 1) != 0 ? -magnitude : magnitude;
    });
}

/// Sums of two powers of two, and the integers beside them: multiples of the narrower dtypes' ranges, and the midpoints
/// of floating numbers.
void fill_integers_of_two_bits(const FillTarget& target, uint64_t key) {
    const int bits = std::bit_width(static_cast<uint64_t>(largest(target.component)));
    const bool is_signed = !is_unsigned(target.component);
    fill_from_words<int64_t>(target, key, [=](int64_t position, const Words& words) {
        const int64_t high = words.below(bits), low = static_cast<int64_t>(words.share() * static_cast<double>(high));
        const int64_t sum = (int64_t{1} << high) + (high > 1 ? (int64_t{1} << low) : 0);
        const int64_t magnitude = high > 1 && high < bits - 1 ? sum + position % 3 - 1 : int64_t{1} << high;
        return is_signed && (words.first & 1) != 0 ? -magnitude : magnitude;
    });
}

}  // namespace

void fill_wide(const FillTarget& target, uint64_t key) {
    if (target.component == Dtype::boolean) return fill_mask(target, key, Parts::kReal);
    if (!is_floating(target.component)) return fill_integers_of_all_sizes(target, key);
    // Sums of many products stay finite, in the dtype that adds them up.
    const Format format = format_of(target.component);
    const int least = format.min_exponent / 2, most = (1 - format.min_exponent) / 2 - (format.overflow > 1e5 ? 12 : 1);
    fill_from_words<double>(target, key, [=](int64_t, const Words& words) {
        const int exponent = least + static_cast<int>(words.below(most - least));
        return words.with_sign(std::ldexp(1 + words.share(), exponent));
    });
}

void fill_ties(const FillTarget& target, uint64_t key) {
    if (target.component == Dtype::boolean) return fill_mask(target, key, Parts::kReal);
    if (!is_floating(target.component)) return fill_integers_of_two_bits(target, key);
    const int bits = format_of(target.component).significand;
    fill_from_words<double>(target, key, [=](int64_t position, const Words& words) {
        const auto whole = [&](int digits) { return std::floor(std::ldexp(1 + words.share(), digits - 1)); };
        switch (position % 3) {
            case 0:  // sums have one digit too many
                return whole(bits);
            case 1:  // odd factors: so have products
                return words.with_sign(std::ldexp(whole(bits / 2), 1) + 1);
            default:  // halfway between whole numbers
                return words.with_sign(static_cast<double>(words.below(50)) + 0.5);
        }
    });
}

void fill_cancelling(const FillTarget& target, uint64_t key) {
    if (!is_floating(target.component)) return fill_randn(target, key);
    // The same large number with either sign, and a small part of its own. In one of four tensors the signs alternate
    // seldom: the sums of parts are large.
    const int64_t run = key % 4 == 1 ? 2'048 : 1;
    fill_from_words<double>(target, key, [=](int64_t position, const Words& words) {
        const double large = 64.0 * static_cast<double>(1 + (position / (2 * run) * run + position % run) % 7);
        return (position / run % 2 == 0 ? large : -large) + words.with_sign(words.share());
    });
}

}  // namespace diopi
