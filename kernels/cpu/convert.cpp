/// The table of conversions between the storage types and the compute types of tiles.
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "core/half.hpp"
#include "core/instruction_sets.hpp"
#include "kernels/cpu/convert.hpp"

namespace diopi::cpu {

namespace {

struct ComplexHalf {
    Half re, im;
};

using Complex64 = std::complex<float>;
using Complex128 = std::complex<double>;

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>;
template <class T>
constexpr bool kIsComplex =
    std::is_same_v<T, ComplexHalf> || std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>;

/// The type from which a number is rounded to a half type.
template <class T>
using Wide = std::conditional_t<sizeof(T) == 8, double, float>;

/// A float32 that rounds to each half type as x does: one of the two next to x, whose last bit is 1 unless it is x.
inline float for_half(float x) { return x; }
inline float for_half(double x) {
    const auto nearest = static_cast<float>(x);
    const bool is_inexact = static_cast<double>(nearest) != x, is_beyond = std::fabs(double{nearest}) > std::fabs(x);
    const uint32_t bits = std::bit_cast<uint32_t>(nearest), below = bits - uint32_t{is_beyond};
    return x != x ? nearest : std::bit_cast<float>(below | uint32_t{is_inexact});
}

/// The number as float, double or an integer, the types of real elements.
template <class T>
inline auto value_of(T x) {
    if constexpr (kIsHalf<T>) {
        return to_float(x);
    } else if constexpr (std::is_same_v<T, Bool>) {
        return static_cast<uint8_t>(x);
    } else {
        return x;
    }
}

/// Truncates. A number that does not fit becomes the same as on x86 and in PyTorch: the least number of 32 or 64 bits,
/// cut off for narrower types. Unsigned types take the low bits of the 64-bit number.
template <class To, class From>
inline To truncate(From x) {
    using Step = std::conditional_t<std::is_signed_v<To> && sizeof(To) <= 4, int32_t, int64_t>;
    constexpr From kEnd = sizeof(Step) == 4 ? From(0x1p31) : From(0x1p63);
    const bool fits = x >= -kEnd && x < kEnd;
    const Step step = fits ? static_cast<Step>(fits ? x : From(0)) : std::numeric_limits<Step>::min();
    return static_cast<To>(step);
}

template <class To, class From>
inline To from_real(From x) {
    if constexpr (std::is_same_v<To, Bool>) {
        return static_cast<Bool>(x != From(0));
    } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
        return truncate<To>(x);
    } else if constexpr (std::is_same_v<To, Half>) {
        return to_half(for_half(static_cast<Wide<From>>(x)));
    } else if constexpr (std::is_same_v<To, Bfloat16>) {
        return to_bfloat16(for_half(static_cast<Wide<From>>(x)));
    } else {
        return static_cast<To>(x);
    }
}

template <class To, class From>
inline To cast(From x) {
    if constexpr (kIsComplex<From> && kIsComplex<To>) {
        if constexpr (std::is_same_v<From, ComplexHalf>) {
            return To(value_of(x.re), value_of(x.im));
        } else if constexpr (std::is_same_v<To, ComplexHalf>) {
            return {from_real<Half>(x.real()), from_real<Half>(x.imag())};
        } else {
            return To(x);
        }
    } else if constexpr (kIsComplex<From>) {
        if constexpr (std::is_same_v<To, Bool>) {
            if constexpr (std::is_same_v<From, ComplexHalf>)
                return cast<To>(cast<Complex128>(x));
            else
                return static_cast<Bool>(x.real() != 0 || x.imag() != 0);
        } else if constexpr (std::is_same_v<From, ComplexHalf>) {
            return from_real<To>(value_of(x.re));
        } else {
            return from_real<To>(x.real());
        }
    } else if constexpr (std::is_same_v<To, ComplexHalf>) {
        return {from_real<Half>(value_of(x)), Half{}};
    } else if constexpr (kIsComplex<To>) {
        return To(static_cast<typename To::value_type>(value_of(x)));
    } else {
        return from_real<To>(value_of(x));
    }
}

void round_for_half(const double* from, float* to, int64_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = for_half(from[i]);
}

/// The numbers become float32 first, which round_for_half makes, and then To: both loops have vectors.
template <class To>
void convert_to_half(const double* from, To* to, int64_t n) {
    static const auto kRound = best<round_for_half>();
    const HalfConverters& converters = half_converters();
    const Convert narrow = std::is_same_v<To, Half> ? converters.float_to_half : converters.float_to_bfloat16;
    constexpr int64_t kPart = 512;
    float part[kPart];
    for (int64_t i = 0; i < n; i += kPart) {
        const int64_t count = std::min(kPart, n - i);
        kRound(from + i, part, count);
        narrow(part, to + i, count);
    }
}

template <class From, class To>
void convert(const void* from, void* to, int64_t n) {
    const From* a = static_cast<const From*>(from);
    To* o = static_cast<To*>(to);
    if constexpr (std::is_same_v<From, double> && kIsHalf<To>) return convert_to_half(a, o, n);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) o[i] = cast<To>(a[i]);
}

constexpr size_t kDtypes = 17;
using Row = std::array<Convert, kDtypes>;

/// Conversions from (or to) the compute type C, indexed by the other dtype.
template <class C>
constexpr Row from_all() {
    return {convert<int8_t, C>,    convert<uint8_t, C>,  convert<int16_t, C>,     convert<uint16_t, C>,
            convert<int32_t, C>,   convert<uint32_t, C>, convert<int64_t, C>,     convert<uint64_t, C>,
            convert<Half, C>,      convert<float, C>,    convert<double, C>,      convert<Bool, C>,
            convert<Bfloat16, C>,  convert<float, C>,    convert<ComplexHalf, C>, convert<Complex64, C>,
            convert<Complex128, C>};
}

template <class C>
constexpr Row to_all() {
    return {convert<C, int8_t>,    convert<C, uint8_t>,  convert<C, int16_t>,     convert<C, uint16_t>,
            convert<C, int32_t>,   convert<C, uint32_t>, convert<C, int64_t>,     convert<C, uint64_t>,
            convert<C, Half>,      convert<C, float>,    convert<C, double>,      convert<C, Bool>,
            convert<C, Bfloat16>,  convert<C, float>,    convert<C, ComplexHalf>, convert<C, Complex64>,
            convert<C, Complex128>};
}

/// Row of a compute type in the tables, -1 for other types.
constexpr int compute_row(Dtype dtype) {
    switch (dtype) {
        case Dtype::float32:
        case Dtype::tfloat32:
            return 0;
        case Dtype::float64:
            return 1;
        case Dtype::int64:
            return 2;
        case Dtype::complex128:
            return 3;
        case Dtype::int8:
        case Dtype::uint8:
        case Dtype::int16:
        case Dtype::uint16:
        case Dtype::int32:
        case Dtype::uint32:
        case Dtype::uint64:
        case Dtype::float16:
        case Dtype::boolean:
        case Dtype::bfloat16:
        case Dtype::complex32:
        case Dtype::complex64:
        case Dtype::unsupported:
            break;
    }
    return -1;
}

constexpr std::array<Row, 4> kFromAll = {from_all<float>(), from_all<double>(), from_all<int64_t>(),
                                         from_all<Complex128>()};
constexpr std::array<Row, 4> kToAll = {to_all<float>(), to_all<double>(), to_all<int64_t>(), to_all<Complex128>()};

}  // namespace

Convert converter(Dtype from, Dtype to) {
    if (from == Dtype::unsupported || to == Dtype::unsupported) return nullptr;
    if (from == Dtype::float32 && to == Dtype::float16) return half_converters().float_to_half;
    if (from == Dtype::float32 && to == Dtype::bfloat16) return half_converters().float_to_bfloat16;
    if (from == Dtype::float16 && to == Dtype::float32) return half_converters().half_to_float;
    if (from == Dtype::bfloat16 && to == Dtype::float32) return half_converters().bfloat16_to_float;
    if (const int row = compute_row(to); row >= 0) return kFromAll[static_cast<size_t>(row)][static_cast<size_t>(from)];
    if (const int row = compute_row(from); row >= 0) return kToAll[static_cast<size_t>(row)][static_cast<size_t>(to)];
    return nullptr;
}

}  // namespace diopi::cpu
