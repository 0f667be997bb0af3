/// div with a tensor or a number, into out or in place: plain, or with the quotient rounded.
#include <cmath>

#include "kernels/cuda/element/binary.cuh"
#include "kernels/cuda/operators.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cuda {

namespace {

template <class C>
struct Divide {
    __device__ C operator()(C a, C b) const { return a / b; }
};

/// 1 where x is infinite, else 0, with the sign of x.
__device__ double unit_of(double x) { return copysign(isinf(x) ? 1.0 : 0.0, x); }

/// The quotient where both parts were computed as NaN: infinite for a divisor of 0 or an infinite dividend, 0 for an
/// infinite divisor. Source: C17, annex G.5.1.
__device__ Complex recovered(Complex a, Complex b, Complex quotient) {
    const double infinity = copysign(HUGE_VAL, b.real);
    const bool is_finite_a = isfinite(a.real) && isfinite(a.imag), is_finite_b = isfinite(b.real) && isfinite(b.imag);
    if (b.real == 0 && b.imag == 0 && !(isnan(a.real) && isnan(a.imag))) {
        return {infinity * a.real, infinity * a.imag};
    }
    double scale = 0;
    if ((isinf(a.real) || isinf(a.imag)) && is_finite_b) {
        a = {unit_of(a.real), unit_of(a.imag)};
        scale = HUGE_VAL;
    } else if ((isinf(b.real) || isinf(b.imag)) && is_finite_a) {
        b = {unit_of(b.real), unit_of(b.imag)};
    } else {
        return quotient;
    }
    return {scale * (a.real * b.real + a.imag * b.imag), scale * (a.imag * b.real - a.real * b.imag)};
}

/// A factor that makes both parts normal numbers: the products of denormal ones have few digits.
__device__ double lifting(Complex z) { return fmax(fabs(z.real), fabs(z.imag)) < 0x1p-900 ? 0x1p110 : 1.0; }
__device__ Complex scaled(Complex z, double factor) { return {z.real * factor, z.imag * factor}; }

/// Source: Smith, Algorithm 116: Complex division, CACM 1962: by the larger part of b, so that nothing overflows early.
template <>
struct Divide<Complex> {
    __device__ Complex operator()(Complex dividend, Complex divisor) const {
        const double above = lifting(dividend), below = lifting(divisor);
        const Complex quotient = quotient_of(scaled(dividend, above), scaled(divisor, below));
        return above == below ? quotient : scaled(quotient, below / above);
    }

 private:
    __device__ static Complex quotient_of(Complex a, Complex b) {
        const bool turns = fabs(b.real) < fabs(b.imag);  // then both are multiplied by -i
        const Complex c = turns ? Complex{a.imag, -a.real} : a, d = turns ? Complex{b.imag, -b.real} : b;
        const double ratio = d.imag / d.real, share = d.real + d.imag * ratio;
        const Complex quotient = {(c.real + c.imag * ratio) / share, (c.imag - c.real * ratio) / share};
        return isnan(quotient.real) && isnan(quotient.imag) ? recovered(a, b, quotient) : quotient;
    }
};

template <class C>
struct DivideTrunc {
    __device__ C operator()(C a, C b) const { return trunc(a / b); }
};

/// Source: torch.div with rounding_mode "floor": the quotient without fmod's remainder, which is whole except for its
/// rounding.
template <class C>
struct DivideFloor {
    __device__ C operator()(C a, C b) const {
        if (b == C(0)) return a / b;
        const C rest = fmod(a, b);
        C quotient = (a - rest) / b;
        if (rest != C(0) && (b < C(0)) != (rest < C(0))) quotient -= C(1);
        if (quotient == C(0)) return copysign(C(0), a / b);
        const C below = floor(quotient);
        return quotient - below > C(0.5) ? below + C(1) : below;
    }
};

/// Division by 0 gives 0: an error would need a synchronisation, and PyTorch does not define the result on a GPU.
template <class C, bool kFloor>
struct DivideInteger {
    __device__ C operator()(C a, C b) const {
        if (b == C(0)) return 0;
        if constexpr (std::is_signed_v<C>) {
            if (b == C(-1)) return static_cast<C>(0 - static_cast<uint64_t>(a));
            const C quotient = a / b;
            return kFloor && quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
        } else {
            return a / b;
        }
    }
};

template <bool kFloor>
diopiError_t divide_integers(diopiContextHandle_t ctx, std::string_view op, const Operands& x) {
    if (x.result == Dtype::uint64) return map_operands<uint64_t>(ctx, op, x, DivideInteger<uint64_t, kFloor>{});
    return map_operands<int64_t>(ctx, op, x, DivideInteger<int64_t, kFloor>{});
}

template <template <class> class F>
diopiError_t divide_reals(diopiContextHandle_t ctx, std::string_view op, const Operands& x) {
    if (x.result == Dtype::float64) return map_operands<double>(ctx, op, x, F<double>{});
    return map_operands<float>(ctx, op, x, F<float>{});
}

diopiError_t div(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                 const Other& other, diopiRoundMode_t mode) {
    Operands x = operands_of(out, input, other);
    if (const diopiError_t error = read_quotient(op, mode, x); error != diopiSuccess) return error;
    if (is_complex(x.result)) return map_operands<Complex>(ctx, op, x, Divide<Complex>{});
    if (mode == RoundModeNone) return divide_reals<Divide>(ctx, op, x);
    const bool is_floor = mode == RoundModeFloor;
    if (is_floating(x.result)) return (is_floor ? divide_reals<DivideFloor> : divide_reals<DivideTrunc>)(ctx, op, x);
    return (is_floor ? divide_integers<true> : divide_integers<false>)(ctx, op, x);
}

}  // namespace

#include "kernels/entries/elementwise_division.inc"

}  // namespace diopi::cuda
