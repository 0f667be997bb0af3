/// Fills of a range: rand, uniform, randint, randn_int.
#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdlib>
#include <string>
#include <type_traits>

#include "cases/fills.hpp"
#include "core/normal.hpp"

namespace diopi {

namespace {

/// The values of [low, high) that a dtype holds.
struct Range {
    double first = 0, last = 0;  ///< least and largest value
    int64_t first_integer = 0;   ///< least integer
    uint64_t integers = 0;       ///< their number, 0 when there is none

    /// The integer `step` above the least one; the sum is made unsigned because `step` can exceed int64.
    [[nodiscard]] int64_t integer(uint64_t step) const {
        return static_cast<int64_t>(static_cast<uint64_t>(first_integer) + step);
    }
};

/// Distance between values of the dtype just above |x| (or, with `below`, just below a power of two).
double spacing(double x, Dtype component, bool below) {
    const int lowest = format_of(component).min_exponent;
    int exponent = x == 0.0 ? lowest : std::ilogb(x);
    if (below && x == std::ldexp(1.0, exponent)) --exponent;
    return std::ldexp(1.0, std::max(exponent, lowest) - significand_bits(component) + 1);
}

Range range_of(double low, double high, Dtype component) {
    Range range;
    const double least_value = component == Dtype::boolean ? -kIntegerLimit : least(component);
    const double largest_value = component == Dtype::boolean ? kIntegerLimit : largest(component);
    if (is_floating(component)) {
        const double up = spacing(low, component, false);
        const double down = spacing(high, component, true);
        range.first = std::max(std::ceil(low / up) * up, least_value);
        range.last = high > largest_value ? largest_value : (std::ceil(high / down) - 1.0) * down;
    } else {
        range.first = std::max(low, least_value);
        range.last = std::min(high, largest_value);
    }
    const double first = std::clamp(std::ceil(range.first), -kIntegerLimit, kIntegerLimit);
    const bool open = !is_floating(component) && high <= largest_value;
    const auto last = static_cast<int64_t>(open ? std::ceil(std::clamp(high, -kIntegerLimit, kIntegerLimit))
                                                : std::floor(std::clamp(range.last, -kIntegerLimit, kIntegerLimit))) -
                      (open ? 1 : 0);
    range.first_integer = static_cast<int64_t>(first);
    if (last >= range.first_integer) {
        range.integers = static_cast<uint64_t>(last) - static_cast<uint64_t>(range.first_integer) + 1;
    }
    return range;
}

template <std::floating_point T>
void fill_uniform(const FillTarget& target, uint64_t key, double low, double high, const Range& range) {
    const double top = largest(target.component);
    const T a = static_cast<T>(std::max(low, -top));
    const T b = static_cast<T>(std::min(high, top));
    const T first_value = static_cast<T>(range.first);
    const T last_value = static_cast<T>(range.last);
    fill_tiles<T>(target, Parts::kBoth, [=](int64_t first, std::span<T> out) {
        uniform_block(key, kValueStream, first, out);
        for (T& u : out) u = std::min(std::max(a * (T{1} - u) + b * u, first_value), last_value);
    });
}

/// High half of a 128-bit product.
uint64_t multiply_high(uint64_t a, uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<uint64_t>((static_cast<Wide>(a) * b) >> 64);
}

void fill_wide_integers(const FillTarget& target, uint64_t key, const Range& range) {
    fill_tiles<int64_t>(target, Parts::kBoth, [&](int64_t first, std::span<int64_t> out) {
        uint32_t words[2 * kTile];
        word_block(key, kValueStream, 2 * first, std::span<uint32_t>(words, 2 * out.size()));
        for (size_t i = 0; i < out.size(); ++i) {
            const uint64_t word = (uint64_t{words[2 * i]} << 32) | words[2 * i + 1];
            out[i] = range.integer(multiply_high(word, range.integers));
        }
    });
}

/// T: int32_t, or float for the 16-bit formats, where all values are below 2^24, for speed; else int64_t.
template <class T>
void fill_narrow_integers(const FillTarget& target, uint64_t key, const Range& range) {
    using Integer = std::conditional_t<std::same_as<T, int64_t>, int64_t, int32_t>;
    const uint64_t n = range.integers;
    const auto least_value = static_cast<Integer>(range.first_integer);
    fill_tiles<T>(target, Parts::kBoth, [=](int64_t first, std::span<T> out) {
        alignas(64) uint32_t words[kTile];
        word_block(key, kValueStream, first, std::span<uint32_t>(words, out.size()));
        for (size_t i = 0; i < out.size(); ++i) {
            out[i] = static_cast<T>(least_value + static_cast<Integer>((words[i] * n) >> 32));
        }
    });
}

void fill_integers(const FillTarget& target, uint64_t key, const Range& range) {
    constexpr int64_t kNarrow = int64_t{1} << 23;  // exact in float, so that halves can be converted from it
    const bool narrow = range.integers <= static_cast<uint64_t>(kNarrow) && std::abs(range.first_integer) <= kNarrow;
    if (range.integers > (uint64_t{1} << 32)) return fill_wide_integers(target, key, range);
    if (!narrow) return fill_narrow_integers<int64_t>(target, key, range);
    if (!is_half(target.component)) return fill_narrow_integers<int32_t>(target, key, range);
    fill_narrow_integers<float>(target, key, range);
}

template <std::floating_point T>
void fill_normal_integers(const FillTarget& target, uint64_t key, double low, double high, const Range& range) {
    const double middle = low / 2.0 + high / 2.0;
    const double scale = high / 6.0 - low / 6.0;
    const auto first_value = static_cast<double>(range.first_integer);
    const auto last_value = static_cast<double>(range.integer(range.integers - 1));
    fill_tiles<T>(target, Parts::kBoth, [=](int64_t first, std::span<T> out) {
        alignas(64) float normals[kTile];
        normal_block(key, kValueStream, first, std::span<float>(normals, out.size()));
        for (size_t i = 0; i < out.size(); ++i) {
            const double value = std::floor(middle + static_cast<double>(normals[i]) * scale);
            out[i] = static_cast<T>(std::min(std::max(value, first_value), last_value));
        }
    });
}

/// Fills from a range that is known to hold values.
void fill_range(const FillTarget& target, uint64_t key, const FillSpec& fill, const Range& range) {
    const bool in_float = is_floating(target.component) && target.component != Dtype::float64;
    if (fill.fn == Fill::kRandnInt) {
        return in_float ? fill_normal_integers<float>(target, key, fill.low, fill.high, range)
                        : fill_normal_integers<double>(target, key, fill.low, fill.high, range);
    }
    if (fill.fn == Fill::kRandint || !is_floating(target.component)) return fill_integers(target, key, range);
    in_float ? fill_uniform<float>(target, key, fill.low, fill.high, range)
             : fill_uniform<double>(target, key, fill.low, fill.high, range);
}

}  // namespace

Status fill_from_range(const FillTarget& target, uint64_t key, const FillSpec& fill) {
    const std::string text = std::string("[") + std::to_string(fill.low) + ", " + std::to_string(fill.high) + ")";
    if (!std::isfinite(fill.low) || !std::isfinite(fill.high)) return bad_input("the range " + text + " is not finite");
    const Range range = range_of(fill.low, fill.high, target.component);
    const bool real = fill.fn == Fill::kUniform && is_floating(target.component);
    if (real ? range.first > range.last : range.integers == 0) {
        return bad_input("the range " + text + " holds no " + (real ? "value" : "integer") + " of " +
                         std::string(name(target.spec.dtype)) + "; low must be below high");
    }
    fill_range(target, key, fill, range);
    return {};
}

Status fill_uniform_unit(const FillTarget& target, uint64_t key) {
    if (target.component == Dtype::boolean) {
        fill_mask(target, key, Parts::kBoth);
        return {};
    }
    return fill_from_range(target, key, {.fn = Fill::kUniform, .low = 0.0, .high = 1.0});
}

}  // namespace diopi
