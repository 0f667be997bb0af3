/// The modulus, the sign, whole numbers.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise_rounding.cpp"
#include <hwy/foreach_target.h>

#include <cfloat>
#include <cmath>
#include <limits>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/unary-inl.hpp"
#include "kernels/cpu/unary_exact.hpp"
#include "kernels/entries/entries.hpp"

#define FORMULAS(X) X(Floor) X(Ceil)

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace {

struct Floor {
    static double one(double x) { return std::floor(x); }
    template <class V>
    static HWY_INLINE V many(V x) {
        return hn::Floor(x);
    }
};

struct Ceil {
    static double one(double x) { return std::ceil(x); }
    template <class V>
    static HWY_INLINE V many(V x) {
        return hn::Ceil(x);
    }
};

}  // namespace

FORMULAS(DIOPI_TILES)

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diopi::cpu {

namespace {

FORMULAS(DIOPI_FORMULA)

}  // namespace

template <>
constexpr bool kIsQuick<Floor> = true;
template <>
constexpr bool kIsQuick<Ceil> = true;

namespace {

template <class T>
struct Abs {
    using Selects = void;
    static uint16_t of_bits(uint16_t x) { return x & 0x7fff; }
    T operator()(T x) const {
        if constexpr (std::is_floating_point_v<T>)
            return std::fabs(x);
        else if constexpr (std::is_signed_v<T>)
            return x < 0 ? static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x)) : x;
        else
            return x;
    }
};

/// |x| in float64, where the squares of float32 numbers neither overflow nor lose digits.
inline double modulus_of(const std::complex<float>& x) {
    const double re = x.real(), im = x.imag();
    const double squares = re * re + im * im;
    return std::sqrt(std::fabs(re) > DBL_MAX || std::fabs(im) > DBL_MAX ? HUGE_VAL : squares);
}
inline double modulus_of(const std::complex<double>& x) { return std::hypot(x.real(), x.imag()); }

template <class T>
struct Modulus {
    auto operator()(const T& x) const { return static_cast<typename T::value_type>(modulus_of(x)); }
};

/// 0 of NaN.
template <class T>
struct Sign {
    using Selects = void;
    T operator()(T x) const {
        if constexpr (std::is_same_v<T, Bool>)
            return x;
        else
            return static_cast<T>((x > T(0) ? T(1) : T(0)) - (x < T(0) ? T(1) : T(0)));
    }
};

/// x times a power of two, so that the square of its larger part neither overflows nor loses digits. The smaller part
/// keeps those that a quotient of both has.
template <class T>
std::complex<T> scaled(const std::complex<T>& x) {
    constexpr bool kIsNarrow = std::is_same_v<T, float>;
    constexpr T kLarge = kIsNarrow ? 0x1p63 : 0x1p511, kSmall = kIsNarrow ? 0x1p-40 : 0x1p-400;
    constexpr T kDown = kIsNarrow ? 0x1p-65 : 0x1p-513, kUp = kIsNarrow ? 0x1p100 : 0x1p700;
    const T re = std::fabs(x.real()), im = std::fabs(x.imag()), larger = re > im ? re : im;
    const T factor = larger > kLarge ? kDown : larger < kSmall ? kUp : 1;
    return {x.real() * factor, x.imag() * factor};
}

/// The sign; x / |x| of a complex number, NaN at infinity.
template <class T>
struct Sgn {
    using Selects = void;
    using TakesComplex = void;
    T operator()(T x) const {
        if constexpr (kIsComplex<T>) {
            using Part = typename T::value_type;
            // Without branches the loop over the elements runs on vectors.
            const bool is_zero = x.real() == 0 && x.imag() == 0;
            const T near = scaled(x);
            const Part modulus = std::sqrt(near.real() * near.real() + near.imag() * near.imag());
            const Part divisor = modulus > std::numeric_limits<Part>::max() ? NAN : modulus;
            const auto part = [=](Part y) { return is_zero ? 0 : y / divisor; };
            return T(part(near.real()), part(near.imag()));
        } else {
            return Sign<T>()(x);
        }
    }
};

/// Integers are whole.
template <class T>
struct Whole {
    using Selects = void;
    T operator()(T x) const { return x; }
};

/// F of floating numbers.
template <class F>
diopiError_t map_whole(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input) {
    return is_floating(view(input).dtype) ? map_unary<F>(ctx, op, out, input) : map_same<Whole>(ctx, op, out, input);
}

/// |x|, of complex numbers, too.
diopiError_t modulus(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                     diopiConstTensorHandle_t input) {
    const View y = view(out), x = view(input);
    if (is_complex(y.dtype)) return unsupported(op, "out", y.dtype, "a real dtype");
    return is_complex(x.dtype) ? map_parts<Modulus>(ctx, op, y, x) : map_same<Abs>(ctx, op, out, input);
}

}  // namespace

#include "kernels/entries/elementwise_rounding.inc"

}  // namespace diopi::cpu
#endif
