/// Complex numbers and their parts.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise_complex.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/unary-inl.hpp"
#include "kernels/cpu/unary_exact.hpp"
#include "kernels/entries/entries.hpp"

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace {

/// The sine and the cosine of an angle, from one reduction where there are vectors.
template <class V>
struct Direction {
    V cosine, sine;
};
template <class V>
HWY_INLINE Direction<V> direction(V angle) {
    if constexpr (HWY_NATIVE_FMA != 0) {
        const SineAndCosine<V> s = sine_and_cosine(angle);
        return {cosine_of(angle, s), sine_of(angle, s)};
    } else {
        return {each(StandardCosine(), angle), each(StandardSine(), angle)};
    }
}

/// Complex numbers of moduli and angles.
template <class T>
void polar(void* const* out, const void* const* in, int64_t n, const void*) {
    constexpr int64_t kStep = kLanesOf<T>;
    T* o = static_cast<T*>(out[0]);
    const T *modulus = static_cast<const T*>(in[0]), *angle = static_cast<const T*>(in[1]);
    for (int64_t i = 0; i < n; i += kStep) {
        const int64_t count = std::min(kStep, n - i);
        read_ahead(modulus + i, kStep);
        read_ahead(angle + i, kStep);
        const Vec<T> r = load_up_to(modulus + i, count);
        const Direction<Vec<T>> to = direction(load_up_to(angle + i, count));
        HWY_ALIGN T last[2 * kStep];
        T* const place = count == kStep ? o + 2 * i : last;
        hn::StoreInterleaved2(r * to.cosine, r * to.sine, Tag<T>(), place);
        if (count < kStep) std::copy_n(last, 2 * count, o + 2 * i);
    }
}

RealTiles polar_tiles() { return {polar<float>, polar<double>}; }

}  // namespace

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diopi::cpu {

namespace {

template <class T>
struct Joined {
    std::complex<T> operator()(T re, T im) const { return {re, im}; }
};

/// The operators that make a complex number of two real ones, in float32 or float64.
struct Cartesian {
    static TileOp in(bool is_narrow) {
        static constexpr Joined<float> kNarrow;
        static constexpr Joined<double> kWide;
        return is_narrow ? map_to<2, float, std::complex<float>>(Dtype::float32, Dtype::complex64, kNarrow)
                         : map_to<2, double, std::complex<double>>(Dtype::float64, Dtype::complex128, kWide);
    }
};
HWY_EXPORT(polar_tiles);
struct Polar {
    static TileOp in(bool is_narrow) {
        TileOp op = HWY_DYNAMIC_DISPATCH(polar_tiles)().in(is_narrow);
        op.stored = is_narrow ? Dtype::complex64 : Dtype::complex128;
        return op;
    }
};

template <class T>
struct Conj {
    using Selects = void;
    using TakesComplex = void;
    T operator()(T x) const {
        if constexpr (kIsComplex<T>)
            return std::conj(x);
        else
            return x;
    }
};

template <class T>
struct RealPart {
    auto operator()(const T& x) const { return x.real(); }
};
template <class T>
struct ImaginaryPart {
    auto operator()(const T& x) const { return x.imag(); }
};

/// A complex number of two real ones.
template <class F>
diopiError_t join(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                  diopiConstTensorHandle_t first, diopiConstTensorHandle_t second) {
    const Operands x = operands_of(out, first, second);
    if (const diopiError_t error = check_broadcast(op, x); error != diopiSuccess) return error;
    if (!is_complex(x.out.dtype)) return unsupported(op, "out", x.out.dtype, "a complex dtype");
    if (is_complex(x.result)) return unsupported(op, "an operand", x.result, "a real dtype");
    const bool is_narrow = x.out.dtype == Dtype::complex64 && is_floating(x.result) && x.result != Dtype::float64;
    return for_each_tile(ctx, op, {&x.out, 1}, std::array{x.input, x.other}, F::in(is_narrow));
}

diopiError_t real_part(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input) {
    const View x = view(input);
    return is_complex(x.dtype) ? map_parts<RealPart>(ctx, op, view(out), x) : map_same<Conj>(ctx, op, out, input);
}

diopiError_t imaginary_part(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input) {
    const View x = view(input);
    if (is_complex(x.dtype)) return map_parts<ImaginaryPart>(ctx, op, view(out), x);
    return unsupported(op, "input", x.dtype, "a complex dtype");
}

}  // namespace

#include "kernels/entries/elementwise_complex.inc"

}  // namespace diopi::cpu
#endif
