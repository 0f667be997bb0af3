#include "cases/draw.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numbers>
#include <optional>
#include <type_traits>

#include "core/half_simd.hpp"
#include "core/normal.hpp"
#include "core/strided.hpp"
#include "runtime/device.hpp"

namespace diopi {

namespace {

constexpr uint64_t kValueStream = 0;
constexpr uint64_t kPatternStream = 1;
/// Numbers that are made, then converted, at a time.
constexpr int64_t kTile = 4096;
constexpr double kIntegerLimit = 0x1p62;

// ---- dtypes ----

Dtype component_of(Dtype dtype) {
    if (dtype == Dtype::complex32) return Dtype::float16;
    if (dtype == Dtype::complex64) return Dtype::float32;
    return dtype == Dtype::complex128 ? Dtype::float64 : dtype;
}

bool is_unsigned(Dtype dtype) { return is_integer(dtype) && significand_bits(dtype) % 8 == 0; }

double largest(Dtype component) {
    if (component == Dtype::float16) return 65504.0;
    if (component == Dtype::bfloat16) return 0x1.fep127;
    if (component == Dtype::tfloat32) return 0x1.ffcp127;
    if (component == Dtype::float32) return std::numeric_limits<float>::max();
    if (component == Dtype::float64) return std::numeric_limits<double>::max();
    return std::min(std::ldexp(1.0, significand_bits(component)) - 1.0, kIntegerLimit);
}

double least(Dtype component) {
    if (is_floating(component)) return -largest(component);
    return is_unsigned(component) ? 0.0 : std::max(-std::ldexp(1.0, significand_bits(component)), -kIntegerLimit);
}

// ---- conversions ----

/// float32 rounded to tfloat32's 11 bits, ties to even.
float round_to_tfloat32(float x) {
    const auto bits = std::bit_cast<uint32_t>(x);
    const uint32_t rounded = (bits + 0xfffu + ((bits >> 13) & 1u)) & ~0x1fffu;
    return x != x ? x : std::bit_cast<float>(rounded);
}

template <class To, class From>
To cast(From x) {
    if constexpr (std::same_as<To, bool>) {
        return x != From{0};
    } else if constexpr (std::integral<To> && std::floating_point<From>) {
        if (!(x == x)) return 0;
        if (x <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
        if (x >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
        return static_cast<To>(x);
    } else {
        return static_cast<To>(x);
    }
}

template <class To, class From>
void store_as(std::span<const From> from, std::byte* to) {
    auto* __restrict out = reinterpret_cast<To*>(to);
    const From* __restrict in = from.data();
    const size_t n = from.size();
    for (size_t i = 0; i < n; ++i) out[i] = cast<To>(in[i]);
}

void store_tfloat32(std::span<const float> from, std::byte* to) {
    auto* out = reinterpret_cast<float*>(to);  // may be `from`
    for (size_t i = 0; i < from.size(); ++i) out[i] = round_to_tfloat32(from[i]);
}

/// Integers and doubles reach the 16-bit formats exactly rounded from double (save integers beyond 2^53).
template <class From>
void store_narrow(Dtype component, std::span<const From> from, std::byte* to) {
    if (component == Dtype::float16) {
        auto* out = reinterpret_cast<Half*>(to);
        for (size_t i = 0; i < from.size(); ++i) out[i] = to_half(static_cast<double>(from[i]));
    } else {
        auto* out = reinterpret_cast<Bfloat16*>(to);
        for (size_t i = 0; i < from.size(); ++i) out[i] = to_bfloat16(static_cast<double>(from[i]));
    }
}

/// Float tiles: of floating components other than float64.
void store(Dtype component, std::span<const float> from, std::byte* to) {
    if (component == Dtype::float16) return to_half(from, reinterpret_cast<Half*>(to));
    if (component == Dtype::bfloat16) return to_bfloat16(from, reinterpret_cast<Bfloat16*>(to));
    if (component == Dtype::tfloat32) return store_tfloat32(from, to);
    std::memcpy(to, from.data(), from.size_bytes());
}

/// Tiles of doubles or integers, to any component.
template <class From>
void store(Dtype component, std::span<const From> from, std::byte* to) {
    switch (component) {
        case Dtype::int8:
            return store_as<int8_t>(from, to);
        case Dtype::uint8:
            return store_as<uint8_t>(from, to);
        case Dtype::int16:
            return store_as<int16_t>(from, to);
        case Dtype::uint16:
            return store_as<uint16_t>(from, to);
        case Dtype::int32:
            return store_as<int32_t>(from, to);
        case Dtype::uint32:
            return store_as<uint32_t>(from, to);
        case Dtype::int64:
            return store_as<int64_t>(from, to);
        case Dtype::uint64:
            return store_as<uint64_t>(from, to);
        case Dtype::boolean:
            return store_as<bool>(from, to);
        case Dtype::float32:
            return store_as<float>(from, to);
        case Dtype::float64:
            return store_as<double>(from, to);
        case Dtype::float16:
        case Dtype::bfloat16:
            return store_narrow(component, from, to);
        case Dtype::tfloat32:
            store_as<float>(from, to);
            return store_tfloat32({reinterpret_cast<const float*>(to), from.size()}, to);
        case Dtype::complex32:
        case Dtype::complex64:
        case Dtype::complex128:
        case Dtype::unsupported:
            break;
    }
}

// ---- where the numbers go ----

/// A contiguous tensor that is being filled.
struct Target {
    const TensorSpec& spec;
    Dtype component;
    int64_t count;  ///< elements
    std::byte* bytes;
};

enum class Parts { kBoth, kReal };

/// Makes the numbers tile by tile with make(first, span) and stores them; kReal leaves imaginary parts 0.
template <class T, class Make>
void fill_tiles(const Target& target, Parts parts, Make make) {
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

// ---- ranges ----

/// What of [low, high) a dtype holds.
struct Range {
    double first = 0, last = 0;  ///< least and largest value
    int64_t first_integer = 0;   ///< least integer
    uint64_t integers = 0;       ///< their number, 0 when there is none

    /// The integer `step` above the least one; the sum is made unsigned because `step` can exceed int64.
    [[nodiscard]] int64_t integer(uint64_t step) const {
        return static_cast<int64_t>(static_cast<uint64_t>(first_integer) + step);
    }
};

/// Distance between values of the dtype just above |x| (or just below, for `below` of a power of two).
double spacing(double x, Dtype component, bool below) {
    const int least_exponent = component == Dtype::float16 ? -14 : component == Dtype::float64 ? -1022 : -126;
    int exponent = x == 0.0 ? least_exponent : std::ilogb(x);
    if (below && x == std::ldexp(1.0, exponent)) --exponent;
    return std::ldexp(1.0, std::max(exponent, least_exponent) - significand_bits(component) + 1);
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

// ---- fills, element by element ----

template <std::floating_point T>
void fill_normal(const Target& target, uint64_t key) {
    fill_tiles<T>(target, Parts::kBoth,
                  [&](int64_t first, std::span<T> out) { normal_block(key, kValueStream, first, out); });
}

template <std::floating_point T>
void fill_positive(const Target& target, uint64_t key) {
    fill_tiles<T>(target, Parts::kBoth, [&](int64_t first, std::span<T> out) {
        normal_block(key, kValueStream, first, out);
        for (T& x : out) x = std::max(std::fabs(x), T{0x1p-24});
    });
}

template <std::floating_point T>
void fill_uniform(const Target& target, uint64_t key, double low, double high, const Range& range) {
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

/// 4x to the nearest integer, ties to even: adding 1.5 * 2^23 leaves the integer in the low bits.
int32_t round_normal(float x) {
    return static_cast<int32_t>(std::bit_cast<uint32_t>(4.0f * x + 0x1.8p23f) - 0x4b400000u);
}

/// Integers made of normals by `convert`.
template <class Convert>
void fill_rounded(const Target& target, uint64_t key, Convert convert) {
    fill_tiles<int32_t>(target, Parts::kBoth, [&](int64_t first, std::span<int32_t> out) {
        alignas(64) float normals[kTile];
        normal_block(key, kValueStream, first, std::span<float>(normals, out.size()));
        for (size_t i = 0; i < out.size(); ++i) out[i] = convert(normals[i]);
    });
}

void fill_integer_normal(const Target& target, uint64_t key) {
    if (target.component == Dtype::boolean) {
        return fill_rounded(target, key,
                            [](float x) { return static_cast<int32_t>(std::bit_cast<uint32_t>(x) >> 31); });
    }
    if (!is_unsigned(target.component)) {
        return fill_rounded(target, key, [](float x) { return round_normal(x); });
    }
    fill_rounded(target, key, [](float x) { return std::abs(round_normal(x)); });
}

/// High half of a 128-bit product.
uint64_t multiply_high(uint64_t a, uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<uint64_t>((static_cast<Wide>(a) * b) >> 64);
}

void fill_wide_integers(const Target& target, uint64_t key, const Range& range) {
    fill_tiles<int64_t>(target, Parts::kBoth, [&](int64_t first, std::span<int64_t> out) {
        uint32_t words[2 * kTile];
        word_block(key, kValueStream, 2 * first, std::span<uint32_t>(words, 2 * out.size()));
        for (size_t i = 0; i < out.size(); ++i) {
            const uint64_t word = (uint64_t{words[2 * i]} << 32) | words[2 * i + 1];
            out[i] = range.integer(multiply_high(word, range.integers));
        }
    });
}

/// T: int32_t, or float for the 16-bit formats, where everything is below 2^24, for speed; else int64_t.
template <class T>
void fill_narrow_integers(const Target& target, uint64_t key, const Range& range) {
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

void fill_integers(const Target& target, uint64_t key, const Range& range) {
    constexpr int64_t kNarrow = int64_t{1} << 23;  // exact in float, so that halves can be converted from it
    const bool narrow = range.integers <= static_cast<uint64_t>(kNarrow) && std::abs(range.first_integer) <= kNarrow;
    if (range.integers > (uint64_t{1} << 32)) return fill_wide_integers(target, key, range);
    if (!narrow) return fill_narrow_integers<int64_t>(target, key, range);
    if (!is_half(target.component)) return fill_narrow_integers<int32_t>(target, key, range);
    fill_narrow_integers<float>(target, key, range);
}

template <std::floating_point T>
void fill_normal_integers(const Target& target, uint64_t key, double low, double high, const Range& range) {
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

/// T: float for the 16-bit formats, for speed; else int32_t.
template <class T>
void fill_bits(const Target& target, uint64_t key, Parts parts) {
    fill_tiles<T>(target, parts, [&](int64_t first, std::span<T> out) {
        alignas(64) uint32_t words[kTile];
        word_block(key, kValueStream, first, std::span<uint32_t>(words, out.size()));
        for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(static_cast<int32_t>(words[i] >> 31));
    });
}

void fill_mask(const Target& target, uint64_t key, Parts parts) {
    is_half(target.component) ? fill_bits<float>(target, key, parts) : fill_bits<int32_t>(target, key, parts);
}

void fill_constant(const Target& target, int32_t value) {
    fill_tiles<int32_t>(target, Parts::kReal, [=](int64_t, std::span<int32_t> out) { std::ranges::fill(out, value); });
}

/// What nobody should read: NaN, 0xA5 bytes, true.
void fill_poison(const Target& target) {
    if (is_integer(target.component)) {
        std::memset(target.bytes, 0xA5, static_cast<size_t>(target.count) * size_of(target.component));
        return;
    }
    fill_tiles<double>(target, Parts::kBoth, [](int64_t, std::span<double> out) {
        std::ranges::fill(out, std::numeric_limits<double>::quiet_NaN());
    });
}

// ---- fills of whole tensors ----

void fill_doubles(const Target& target, const std::vector<double>& values) {
    fill_tiles<double>(target, Parts::kReal, [&](int64_t first, std::span<double> out) {
        std::copy_n(values.begin() + first, out.size(), out.begin());
    });
}

/// Integers hold the nearest integer, unsigned ones its magnitude.
void fill_nearest(const Target& target, std::vector<double>& values) {
    if (!is_floating(target.component)) {
        for (double& x : values) x = std::nearbyint(is_unsigned(target.component) ? std::fabs(x) : x);
    }
    fill_doubles(target, values);
}

std::vector<double> normals(const Target& target, uint64_t key) {
    std::vector<double> values(static_cast<size_t>(target.count));
    normal_block(key, kValueStream, 0, std::span<double>(values));
    return values;
}

/// out = a a^T / n + I. Each element sums over k in order, so that the result is symmetric to the bit.
void symmetric_product(const double* a, double* out, size_t n) {
    std::vector<double> transposed(n * n);
    for (size_t i = 0; i < n; ++i) {
        for (size_t k = 0; k < n; ++k) transposed[k * n + i] = a[i * n + k];
    }
    for (size_t i = 0; i < n; ++i) {
        double* row = out + i * n;
        std::fill_n(row, n, 0.0);
        for (size_t k = 0; k < n; ++k) {
            const double factor = a[i * n + k];
            const double* other = transposed.data() + k * n;
            for (size_t j = 0; j < n; ++j) row[j] += factor * other[j];
        }
        for (size_t j = 0; j < n; ++j) row[j] /= static_cast<double>(n);
        row[i] += 1.0;
    }
}

void fill_symmetric(const Target& target, uint64_t key) {
    const auto n = static_cast<size_t>(target.spec.shape.back());
    const std::vector<double> a = normals(target, key);
    std::vector<double> values(a.size());
    for (size_t start = 0; start < a.size(); start += n * n) symmetric_product(&a[start], &values[start], n);
    fill_nearest(target, values);
}

/// 1 / i! for i = 0 .. 13.
constexpr std::array kInverseFactorials = [] {
    std::array<double, 14> table{1.0};
    double factorial = 1.0;
    for (size_t i = 1; i < table.size(); ++i) table[i] = 1.0 / (factorial *= static_cast<double>(i));
    return table;
}();

/// e^x for x in [-700, 0], within 2 ulp: x = k ln 2 + r, Taylor series in r. No libm, whose bits vary.
double exp_negative(double x) {
    constexpr double kShift = 0x1.8p52;
    const double k = (x * std::numbers::log2e + kShift) - kShift;
    const double r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    double sum = 0.0;
    for (size_t i = kInverseFactorials.size(); i-- > 0;) sum = sum * r + kInverseFactorials[i];
    return sum * std::bit_cast<double>(static_cast<uint64_t>(static_cast<int64_t>(k) + 1023) << 52);
}

void fill_log_softmax(const Target& target, uint64_t key) {
    const Shape& shape = target.spec.shape;
    const size_t dim = shape.size() > 1 ? 1 : 0;
    const int64_t length = shape.empty() ? 1 : shape[dim];
    const int64_t inner = shape.size() > dim ? numel(ShapeView(shape).subspan(dim + 1)) : 1;
    std::vector<double> values = normals(target, key);
    for (int64_t line = 0; line < target.count / length; ++line) {
        double* x = values.data() + line / inner * length * inner + line % inner;
        double top = x[0];
        for (int64_t i = 1; i < length; ++i) top = std::max(top, x[i * inner]);
        double sum = 0;
        for (int64_t i = 0; i < length; ++i) sum += exp_negative(x[i * inner] - top);
        const double log_sum = log_positive(sum);
        for (int64_t i = 0; i < length; ++i) x[i * inner] = (x[i * inner] - top) - log_sum;
    }
    fill_nearest(target, values);
}

// ---- one tensor ----

/// Fills of ranges, whose range has been found to hold values.
void fill_range(const Target& target, uint64_t key, const FillSpec& fill, const Range& range) {
    const bool in_float = is_floating(target.component) && target.component != Dtype::float64;
    if (fill.fn == Fill::kRandnInt) {
        return in_float ? fill_normal_integers<float>(target, key, fill.low, fill.high, range)
                        : fill_normal_integers<double>(target, key, fill.low, fill.high, range);
    }
    if (fill.fn == Fill::kRandint || !is_floating(target.component)) return fill_integers(target, key, range);
    in_float ? fill_uniform<float>(target, key, fill.low, fill.high, range)
             : fill_uniform<double>(target, key, fill.low, fill.high, range);
}

Status fill_from_range(const Target& target, uint64_t key, const FillSpec& fill) {
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

Status fill_uniform_unit(const Target& target, uint64_t key) {
    if (target.component == Dtype::boolean) {
        fill_mask(target, key, Parts::kBoth);
        return {};
    }
    return fill_from_range(target, key, {.fn = Fill::kUniform, .low = 0.0, .high = 1.0});
}

void fill_randn(const Target& target, uint64_t key) {
    if (!is_floating(target.component)) return fill_integer_normal(target, key);
    target.component == Dtype::float64 ? fill_normal<double>(target, key) : fill_normal<float>(target, key);
}

void fill_magnitude(const Target& target, uint64_t key) {
    if (target.component == Dtype::float64) return fill_positive<double>(target, key);
    if (is_floating(target.component)) return fill_positive<float>(target, key);
    fill_rounded(target, key, [](float x) { return std::abs(round_normal(x)); });
}

Status fill_target(const Target& target, uint64_t key, const CaseTensor& argument) {
    if (target.count == 0 && argument.fill.fn != Fill::kValue) return {};
    const Shape& shape = target.spec.shape;
    switch (argument.fill.fn) {
        case Fill::kRand:
            return fill_uniform_unit(target, key);
        case Fill::kRandn:
        case Fill::kRandnComplex:
            fill_randn(target, key);
            break;
        case Fill::kUniform:
        case Fill::kRandint:
        case Fill::kRandnInt:
            return fill_from_range(target, key, argument.fill);
        case Fill::kPositive:
            fill_magnitude(target, key);
            break;
        case Fill::kMask:
            fill_mask(target, key, Parts::kReal);
            break;
        case Fill::kEmpty:
            fill_poison(target);
            break;
        case Fill::kOnes:
            fill_constant(target, 1);
            break;
        case Fill::kZeros:
            fill_constant(target, 0);
            break;
        case Fill::kLogSoftmax:
            fill_log_softmax(target, key);
            break;
        case Fill::kSymMat:
            if (shape.size() < 2 || shape[shape.size() - 1] != shape[shape.size() - 2]) {
                return bad_input("sym_mat needs square matrices in the last two dims, the shape is " +
                                 to_string(shape));
            }
            fill_symmetric(target, key);
            break;
        case Fill::kValue:
            if (static_cast<int64_t>(argument.values.size()) != target.count) {
                return bad_input(std::to_string(argument.values.size()) + " values are given for the shape " +
                                 to_string(shape) + " of " + std::to_string(target.count) + " elements");
            }
            fill_doubles(target, argument.values);
            break;
    }
    return {};
}

Result<TensorPtr> draw_dense(const CaseTensor& argument, const TensorSpec& spec, uint64_t key) {
    auto tensor = make_tensor(cpu_device(), {spec.shape, spec.dtype, {}});
    if (!tensor.ok()) return tensor;
    const Target target{spec, component_of(spec.dtype), (*tensor)->numel(),
                        static_cast<std::byte*>((*tensor)->storage.memory.get())};
    if (Status s = fill_target(target, key, argument); !s.ok()) return s.error();
    return tensor;
}

Shape non_contiguous_strides(const Shape& shape) {
    Shape strides = contiguous_strides(shape);
    if (numel(shape) <= 1) return strides;
    const size_t rank = shape.size();
    if (rank >= 2) {
        Shape swapped = shape;
        std::swap(swapped[rank - 1], swapped[rank - 2]);
        strides = contiguous_strides(swapped);
        std::swap(strides[rank - 1], strides[rank - 2]);
    }
    if (is_contiguous(shape, strides)) {
        for (int64_t& stride : strides) stride *= 2;
    }
    return strides;
}

/// storage_extent of strides that a user wrote.
Result<int64_t> checked_extent(const TensorSpec& spec) {
    const std::string strides = "strides " + to_string(spec.strides);
    if (spec.strides.size() != spec.shape.size()) {
        return bad_input(strides + " do not match the rank of the shape " + to_string(spec.shape));
    }
    int64_t last = 0;
    for (size_t i = 0; i < spec.shape.size(); ++i) {
        if (spec.strides[i] < 0) return bad_input(strides + " have a negative one; strides must be 0 or more");
        int64_t span = 0;
        if (spec.shape[i] > 0 && (__builtin_mul_overflow(spec.shape[i] - 1, spec.strides[i], &span) ||
                                  __builtin_add_overflow(last, span, &last))) {
            return bad_input(strides + " reach beyond the address space");
        }
    }
    int64_t nbytes = 0;
    if (last == INT64_MAX || __builtin_mul_overflow(last + 1, static_cast<int64_t>(size_of(spec.dtype)), &nbytes)) {
        return bad_input(strides + " reach beyond the address space");
    }
    return storage_extent(spec.shape, spec.strides);
}

Result<TensorPtr> lay_out(const TensorPtr& dense, const Shape& strides) {
    auto view = make_tensor(cpu_device(), {dense->shape, dense->dtype, strides});
    if (!view.ok()) return view;
    const TensorSpec spec{dense->shape, dense->dtype, strides};
    fill_poison({spec, component_of(spec.dtype), storage_extent(spec.shape, strides),
                 static_cast<std::byte*>((*view)->storage.memory.get())});
    copy_strided(*dense, **view);
    return view;
}

Result<TensorPtr> draw_strided(const CaseTensor& argument, TensorSpec spec, uint64_t key) {
    if (!spec.strides.empty()) {
        if (auto extent = checked_extent(spec); !extent.ok()) return extent.error();
    } else if (argument.no_contiguous) {
        spec.strides = non_contiguous_strides(spec.shape);
    }
    auto dense = draw_dense(argument, spec, key);
    if (!dense.ok() || spec.strides.empty()) return dense;
    return lay_out(*dense, spec.strides);
}

/// Row-major indices of the elements that a CSR tensor stores.
std::vector<int64_t> draw_pattern(int64_t count, double density, uint64_t key) {
    const auto limit = static_cast<uint64_t>(std::ceil(density * 0x1p32));
    std::vector<int64_t> stored;
    uint32_t words[kTile];
    for (int64_t first = 0; first < count; first += kTile) {
        const auto n = static_cast<size_t>(std::min(kTile, count - first));
        word_block(key, kPatternStream, first, std::span<uint32_t>(words, n));
        for (size_t i = 0; i < n; ++i) {
            if (words[i] < limit) stored.push_back(first + static_cast<int64_t>(i));
        }
    }
    return stored;
}

Result<TensorPtr> draw_csr(const CaseTensor& argument, const TensorSpec& spec, uint64_t key) {
    const double density = argument.fill.density;
    if (spec.shape.size() != 2) return bad_input("a CSR tensor has rank 2, the shape is " + to_string(spec.shape));
    if (!(density >= 0.0 && density <= 1.0)) {
        return bad_input("the density " + std::to_string(density) + " is not in [0, 1]");
    }
    auto dense = draw_dense(argument, spec, key);
    if (!dense.ok()) return dense;
    const int64_t rows = spec.shape[0];
    const int64_t columns = spec.shape[1];
    const std::vector<int64_t> stored = draw_pattern((*dense)->numel(), density, key);
    const auto nnz = static_cast<int64_t>(stored.size());
    auto crow = make_tensor(cpu_device(), {{rows + 1}, Dtype::int64, {}});
    auto col = make_tensor(cpu_device(), {{nnz}, Dtype::int64, {}});
    auto values = make_tensor(cpu_device(), {{nnz}, spec.dtype, {}});
    for (const auto* part : {&crow, &col, &values}) {
        if (!part->ok()) return part->error();
    }
    auto* row_starts = (*crow)->data_as<int64_t>();
    std::fill_n(row_starts, rows + 1, int64_t{0});
    const size_t size = size_of(spec.dtype);
    for (size_t i = 0; i < stored.size(); ++i) {
        ++row_starts[stored[i] / columns + 1];
        (*col)->data_as<int64_t>()[i] = stored[i] % columns;
        std::memcpy((*values)->data_as<std::byte>() + i * size,
                    (*dense)->data_as<std::byte>() + static_cast<size_t>(stored[i]) * size, size);
    }
    for (int64_t row = 0; row < rows; ++row) row_starts[row + 1] += row_starts[row];

    auto tensor = std::make_shared<Tensor>();
    tensor->shape = spec.shape;
    tensor->strides = contiguous_strides(spec.shape);
    tensor->dtype = spec.dtype;
    tensor->crow_indices = *crow;
    tensor->col_indices = *col;
    tensor->values = *values;
    return tensor;
}

Result<TensorPtr> draw_one(const CaseTensor& argument, const TensorSpec& spec, uint64_t key) {
    if (size_of(spec.dtype) == 0) return bad_input("the dtype is not one that a tensor can have");
    const std::optional<int64_t> count = checked_numel(spec.shape);
    if (!count || *count > INT64_MAX / 64) {
        return bad_input("a tensor of shape " + to_string(spec.shape) + " has no sound number of elements");
    }
    return argument.sparse_csr ? draw_csr(argument, spec, key) : draw_strided(argument, spec, key);
}

/// Finaliser of splitmix64 (Vigna): every input bit reaches every output bit.
uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

}  // namespace

uint64_t tensor_key(uint64_t case_key, std::string_view name, int64_t position) {
    uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return mix(mix(mix(case_key) ^ hash) ^ static_cast<uint64_t>(position));
}

Result<std::vector<TensorPtr>> draw(const CaseTensor& tensor, uint64_t case_key) {
    std::vector<TensorPtr> drawn;
    if (tensor.absent) return drawn;
    for (const TensorSpec& spec : tensor.specs) {
        const auto position = static_cast<int64_t>(drawn.size());
        auto one = draw_one(tensor, spec, tensor_key(case_key, tensor.name, position));
        if (!one.ok()) {
            const std::string index = tensor.is_list ? std::string("[") + std::to_string(position) + "]" : "";
            return Error{one.error().code, "argument '" + tensor.name + "'" + index + ": " + one.error().message};
        }
        drawn.push_back(std::move(*one));
    }
    return drawn;
}

}  // namespace diopi
