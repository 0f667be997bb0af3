/// Fills that show failures: exact, special, captured.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "cases/fills.hpp"
#include "core/normal.hpp"

namespace diopi {

namespace {

// ---- exact ----

/// Largest magnitude. Sums of 2^20 products stay within 2^24, of 256 products of halves within 2^11 (float16) and 2^8
/// (bfloat16): all integers up to these limits are exact.
uint32_t exact_range(Dtype component) {
    if (component == Dtype::bfloat16) return 1;
    return component == Dtype::float16 ? 2 : 4;
}

/// Whether the element must not be 0: at the last index of a dim, or at the edge of a tile along the innermost one.
bool is_at_edge(const Shape& shape, int64_t element) {
    constexpr int64_t kTileEdge = 8;
    if (shape.empty()) return true;
    const int64_t innermost = element % shape.back() % kTileEdge;
    if (innermost == 0 || innermost == kTileEdge - 1) return true;
    for (size_t d = shape.size(); d-- > 0;) {
        if (element % shape[d] == shape[d] - 1) return true;
        element /= shape[d];
    }
    return false;
}

/// T: float for the 16-bit formats, for speed; else int32_t.
template <class T>
void fill_whole(const FillTarget& target, uint64_t key) {
    const uint32_t range = exact_range(target.component);
    const bool is_signed = !is_unsigned(target.component) && target.component != Dtype::boolean;
    const int64_t parts = is_complex(target.spec.dtype) ? 2 : 1;
    fill_tiles<T>(target, Parts::kBoth, [&](int64_t first, std::span<T> out) {
        alignas(64) uint32_t words[kTile];
        word_block(key, kValueStream, first, std::span<uint32_t>(words, out.size()));
        for (size_t i = 0; i < out.size(); ++i) {
            const uint32_t word = words[i];
            const auto magnitude = static_cast<int32_t>(1 + (((word >> 8) * uint64_t{range}) >> 24));
            const bool is_zero =
                (word & 15u) == 0 && !is_at_edge(target.spec.shape, (first + static_cast<int64_t>(i)) / parts);
            out[i] = static_cast<T>(is_zero ? 0 : is_signed && (word & 16u) != 0 ? -magnitude : magnitude);
        }
    });
}

// ---- special ----

/// 2^e with e from `word`.
double random_power(uint32_t word, Dtype component, Extremes extremes) {
    const int least = format_of(component).min_exponent, most = 1 - least;
    const int least_power = extremes == Extremes::kAll ? least : -(most / 4);
    const int most_power = extremes == Extremes::kAll ? most : extremes == Extremes::kSummable ? most / 4 : 0;
    const auto span = static_cast<uint64_t>(most_power - least_power + 1);
    return std::ldexp(1.0, least_power + static_cast<int>((word * span) >> 32));
}

std::vector<double> special_numbers(Dtype component, Extremes extremes, uint32_t word) {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    const double smallest = std::ldexp(1.0, format_of(component).min_exponent);
    const double denormal = std::ldexp(smallest, 1 - significand_bits(component));
    const double power = random_power(word, component, extremes);
    std::vector<double> numbers = {0.0, -0.0, denormal, -denormal, smallest, power};
    if (extremes != Extremes::kFinite) {
        const double nan = std::copysign(std::numeric_limits<double>::quiet_NaN(), word % 2 == 0 ? 1.0 : -1.0);
        numbers.insert(numbers.end(), {nan, kInf, -kInf});
    }
    if (extremes == Extremes::kAll) numbers.insert(numbers.end(), {largest(component), -largest(component)});
    return numbers;
}

/// In half of the tensors all numbers that are not finite are of one kind: a check that finds any of them may not see
/// another one alone.
double only_one_kind(double number, uint64_t key) {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    if (std::isfinite(number)) return number;
    switch (key % 6) {
        case 3:
            return std::numeric_limits<double>::quiet_NaN();
        case 4:
            return kInf;
        case 5:
            return -kInf;
        default:
            return number;
    }
}

std::vector<int64_t> special_integers(Dtype component) {
    if (is_unsigned(component)) {
        // The largest uint64 is -1 as int64; storing wraps it back.
        const int bits = significand_bits(component);
        return {bits == 64 ? int64_t{-1} : (int64_t{1} << bits) - 1, 0, 1};
    }
    const auto top = static_cast<int64_t>((uint64_t{1} << significand_bits(component)) - 1);
    return {-top - 1, top, 0, -1, 1};
}

/// Calls put(index of a component, its number among the special ones, a random word). Every second one has the same
/// place in all tensors with as many elements, so that two special numbers meet. Most of these pairs are equal numbers.
/// Behind the first of each kind some are any two.
template <class Put>
void for_each_special(const FillTarget& target, uint64_t key, Put&& put) {
    constexpr int64_t kSpecial = 32, kKinds = 11;
    const int64_t total = target.count * (is_complex(target.spec.dtype) ? 2 : 1);
    const int64_t chosen = std::min(kSpecial, total / 2);
    std::array<uint32_t, 2 * kSpecial> words{};
    word_block(key, kPatternStream, 0, words);
    for (int64_t i = 0; i < chosen; ++i) {
        const int64_t begin = i * (total / chosen);
        const auto length = static_cast<uint64_t>(total / chosen);
        const uint64_t word = words[static_cast<size_t>(2 * i)];
        const auto place = static_cast<int64_t>(i % 2 == 0 ? length / 2 : (word * length) >> 32);
        const auto number = i % 4 == 2 && i > kKinds ? static_cast<int64_t>(word >> 8) : i;
        put(begin + place, number, words[static_cast<size_t>(2 * i + 1)]);
    }
}

// ---- captured ----

/// Stores elements of `values`, whose type is From, from `first` on.
template <class To, class From, class Convert>
void take(const FillTarget& target, Parts parts, const Tensor& values, int64_t first, Convert convert) {
    const auto* from = values.data_as<From>();
    const int64_t available = values.numel();
    fill_tiles<To>(target, parts, [&](int64_t at, std::span<To> out) {
        for (size_t i = 0; i < out.size(); ++i) out[i] = convert(from, at + static_cast<int64_t>(i), first, available);
    });
}

template <class T>
T number_at(const T* from, int64_t i, int64_t first, int64_t available) {
    return from[(first + i) % available];
}

/// Component i of pairs.
double component(const double* from, int64_t i, int64_t first, int64_t available) {
    return from[(first + i / 2) % available * 2 + i % 2];
}

double real_part(const double* from, int64_t i, int64_t first, int64_t available) {
    return from[(first + i) % available * 2];
}

}  // namespace

void fill_exact(const FillTarget& target, uint64_t key) {
    is_half(target.component) ? fill_whole<float>(target, key) : fill_whole<int32_t>(target, key);
}

void fill_special(const FillTarget& target, uint64_t key, Extremes extremes) {
    if (target.component == Dtype::boolean) return fill_mask(target, key, Parts::kReal);
    fill_randn(target, key);
    const auto step = static_cast<int64_t>(size_of(target.component));
    for_each_special(target, key, [&](int64_t at, int64_t number, uint32_t word) {
        const auto pick = [&](const auto& list) { return list[static_cast<size_t>(number) % list.size()]; };
        std::byte* to = target.bytes + at * step;
        if (is_floating(target.component)) {
            const double value = only_one_kind(pick(special_numbers(target.component, extremes, word)), key);
            store(target.component, std::span<const double>(&value, 1), to);
        } else {
            const int64_t value = pick(special_integers(target.component));
            store(target.component, std::span<const int64_t>(&value, 1), to);
        }
    });
}

void fill_captured(const FillTarget& target, const Tensor& values, int64_t first) {
    if (values.dtype == Dtype::int64) {
        return take<int64_t, int64_t>(target, Parts::kReal, values, first, number_at<int64_t>);
    }
    if (values.dtype == Dtype::boolean) {
        return take<int32_t, bool>(target, Parts::kReal, values, first, number_at<bool>);
    }
    if (values.dtype == Dtype::float64) {
        return take<double, double>(target, Parts::kReal, values, first, number_at<double>);
    }
    if (is_complex(target.spec.dtype)) return take<double, double>(target, Parts::kBoth, values, first, component);
    take<double, double>(target, Parts::kReal, values, first, real_part);
}

}  // namespace diopi
