/// The modulus, the sign, whole numbers.
#include <cmath>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/unary_exact.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

template <class T>
struct Abs {
    using Selects = void;
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
    return std::isinf(re) || std::isinf(im) ? HUGE_VAL : std::sqrt(re * re + im * im);
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

/// The sign; x / |x| of a complex number, NaN at infinity.
template <class T>
struct Sgn {
    using Selects = void;
    using TakesComplex = void;
    T operator()(T x) const {
        if constexpr (kIsComplex<T>) {
            using Part = typename T::value_type;
            const double modulus = modulus_of(x);
            if (modulus == 0) return T();
            if (std::isinf(modulus)) return T(NAN, NAN);
            return T(static_cast<Part>(x.real() / modulus), static_cast<Part>(x.imag() / modulus));
        } else {
            return Sign<T>()(x);
        }
    }
};

template <class T>
struct Floor {
    using Selects = void;
    T operator()(T x) const {
        if constexpr (std::is_floating_point_v<T>)
            return std::floor(x);
        else
            return x;
    }
};

template <class T>
struct Ceil {
    using Selects = void;
    T operator()(T x) const {
        if constexpr (std::is_floating_point_v<T>)
            return std::ceil(x);
        else
            return x;
    }
};

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
