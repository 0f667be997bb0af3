/// div with a tensor or a number, into out or in place: plain, or with the quotient rounded.
#include <atomic>
#include <cmath>
#include <complex>
#include <type_traits>

#include "kernels/cpu/operands.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

/// The quotient of complex numbers: in the next wider format where products may overflow or become denormal on the way.
inline std::complex<double> divide(std::complex<double> a, std::complex<double> b) {
    const auto is_moderate = [](double x) { return x == 0 || (std::fabs(x) > 0x1p-400 && std::fabs(x) < 0x1p400); };
    const double square = b.real() * b.real() + b.imag() * b.imag();
    if (square != 0 && is_moderate(a.real()) && is_moderate(a.imag()) && is_moderate(b.real()) &&
        is_moderate(b.imag())) {
        return {(a.real() * b.real() + a.imag() * b.imag()) / square,
                (a.imag() * b.real() - a.real() * b.imag()) / square};
    }
    using Wide = std::complex<long double>;
    return std::complex<double>(Wide(a) / Wide(b));
}

template <class T>
struct Divide {
    T operator()(T a, T b) const {
        if constexpr (kIsComplex<T>)
            return T(divide(std::complex<double>(a), std::complex<double>(b)));
        else
            return a / b;
    }
};

template <class T>
struct DivideTrunc {
    T operator()(T a, T b) const { return std::trunc(a / b); }
};

/// The remainder of a / b with the sign of a. Exact in double as long as the quotient has few bits.
inline float remainder(float a, float b) {
    constexpr double kExact = 0x1p28;
    const double quotient = std::trunc(double{a} / double{b});
    if (!(std::fabs(quotient) < kExact) || std::isinf(b)) return std::fmod(a, b);
    return std::copysign(static_cast<float>(std::fma(-quotient, double{b}, double{a})), a);
}
inline double remainder(double a, double b) { return std::fmod(a, b); }

/// Source: torch.div with rounding_mode "floor" (c10::div_floor_floating).
template <class T>
struct DivideFloor {
    T operator()(T a, T b) const {
        if (b == 0) return a / b;
        const T rest = remainder(a, b);
        T quotient = (a - rest) / b;
        if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
        if (quotient == 0) return std::copysign(T(0), a / b);
        const T floor = std::floor(quotient);
        return quotient - floor > T(0.5) ? floor + 1 : floor;
    }
};

/// Integer quotient; a divisor of 0 gives 0 and is recorded.
template <class T, bool kFloor>
struct DivideInteger {
    std::atomic<bool>* by_zero;
    T operator()(T a, T b) const {
        if (b == 0) {
            *by_zero = true;
            return 0;
        }
        if constexpr (std::is_signed_v<T>) {
            if (b == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
            const T quotient = a / b;
            return kFloor && a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
        } else {
            return a / b;
        }
    }
};

template <class T, bool kFloor>
diopiError_t divide_integers(diopiContextHandle_t ctx, std::string_view op, const Operands& x, Dtype compute) {
    std::atomic<bool> by_zero = false;
    const DivideInteger<T, kFloor> f{&by_zero};
    const diopiError_t error = run<T>(ctx, op, x, compute, f);
    if (error != diopiSuccess || !by_zero) return error;
    return fail(diopiErrorOccurred, std::string(op) + ": ZeroDivisionError: an integer was divided by 0");
}

template <bool kFloor>
diopiError_t divide_integers(diopiContextHandle_t ctx, std::string_view op, const Operands& x) {
    const std::array ins = {x.input, x.other};
    const Dtype compute = compute_dtype(x.result, {&x.out, 1}, ins);
    if (compute == Dtype::uint64) return divide_integers<uint64_t, kFloor>(ctx, op, x, compute);
    return divide_integers<int64_t, kFloor>(ctx, op, x, Dtype::int64);
}

template <template <class> class F>
diopiError_t divide_reals(diopiContextHandle_t ctx, std::string_view op, const Operands& x) {
    if (wide(x.result) == Dtype::float64) {
        F<double> f;
        return run<double>(ctx, op, x, Dtype::float64, f);
    }
    F<float> f;
    return run<float>(ctx, op, x, Dtype::float32, f);
}

diopiError_t divide_complex(diopiContextHandle_t ctx, std::string_view op, const Operands& x) {
    const std::array ins = {x.input, x.other};
    const Dtype compute = compute_dtype(x.result, {&x.out, 1}, ins);
    if (compute == Dtype::complex64) {
        Divide<std::complex<float>> f;
        return run<std::complex<float>>(ctx, op, x, compute, f);
    }
    Divide<std::complex<double>> f;
    return run<std::complex<double>>(ctx, op, x, compute, f);
}

diopiError_t div(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                 const Other& other, diopiRoundMode_t mode) {
    Operands operands = operands_of(out, input, other);
    if (const diopiError_t error = read_quotient(op, mode, operands); error != diopiSuccess) return error;
    if (is_complex(operands.result)) return divide_complex(ctx, op, operands);
    const bool is_floor = mode == RoundModeFloor;
    if (is_floating(operands.result)) {
        if (mode == RoundModeNone) return divide_reals<Divide>(ctx, op, operands);
        return (is_floor ? divide_reals<DivideFloor> : divide_reals<DivideTrunc>)(ctx, op, operands);
    }
    return in_result_dtype(ctx, op, operands, [&](const Operands& x) {
        return is_floor ? divide_integers<true>(ctx, op, x) : divide_integers<false>(ctx, op, x);
    });
}

}  // namespace

#include "kernels/entries/elementwise_division.inc"

}  // namespace diopi::cpu
