/// add, sub, mul, div with a tensor or a number, into out or in place.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/tile.hpp"

namespace diopi::cpu {

namespace {

template <class T>
constexpr bool kIsComplex = false;
template <class T>
constexpr bool kIsComplex<std::complex<T>> = true;

/// The number in a compute type; integers wrap, a floating number for integers truncates.
template <class T>
T number(const diopiScalar_t& scalar) {
    const bool floating = is_floating(from_c(scalar.stype));
    if constexpr (std::is_same_v<T, Bool>) {
        return static_cast<Bool>(floating ? scalar.fval != 0 : scalar.ival != 0);
    } else if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(floating ? static_cast<int64_t>(scalar.fval) : scalar.ival);
    } else if constexpr (kIsComplex<T>) {
        return T(number<typename T::value_type>(scalar));
    } else {
        return floating ? static_cast<T>(scalar.fval) : static_cast<T>(scalar.ival);
    }
}

/// Where a product of wrapping integers is formed: int would overflow for uint16.
template <class T>
using Product = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

/// a + alpha * b, rounded once for real numbers.
template <class T>
struct AddScaled {
    T alpha;
    T operator()(T a, T b) const {
        if constexpr (std::is_same_v<T, Bool>) {
            return static_cast<Bool>(uint8_t(a) | (uint8_t(alpha) & uint8_t(b)));
        } else if constexpr (std::is_integral_v<T>) {
            return static_cast<T>(a + static_cast<Product<T>>(alpha) * b);
        } else if constexpr (kIsComplex<T>) {
            return T(std::fma(alpha.real(), b.real(), a.real()), std::fma(alpha.real(), b.imag(), a.imag()));
        } else {
            return std::fma(alpha, b, a);
        }
    }
};

template <class T>
struct Multiply {
    T operator()(T a, T b) const {
        if constexpr (std::is_same_v<T, Bool>) {
            return static_cast<Bool>(uint8_t(a) & uint8_t(b));
        } else if constexpr (std::is_integral_v<T>) {
            return static_cast<T>(static_cast<Product<T>>(a) * b);
        } else if constexpr (std::is_same_v<T, std::complex<float>>) {
            const double ar = a.real(), ai = a.imag(), br = b.real(), bi = b.imag();
            return T(static_cast<float>(ar * br - ai * bi), static_cast<float>(ar * bi + ai * br));
        } else if constexpr (kIsComplex<T>) {
            return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
        } else {
            return a * b;
        }
    }
};

template <class T>
struct Divide {
    T operator()(T a, T b) const {
        if constexpr (std::is_same_v<T, std::complex<float>>) {
            return T(std::complex<double>(a) / std::complex<double>(b));
        } else {
            return a / b;
        }
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

/// Integer quotient; a divisor of 0 gives 0 and is remembered.
template <class T, bool kFloor>
struct DivideInteger {
    bool by_zero = false;
    T operator()(T a, T b) {
        if (b == 0) {
            by_zero = true;
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

/// The operands of a call: two tensors, or a tensor and a number that lies in `bytes` in the compute type.
struct Operands {
    View out, input, other;
    bool other_is_number = false;
    diopiScalar_t other_number{};
    Dtype result = Dtype::float32;      ///< by the rules of promotion
    alignas(16) std::byte bytes[16]{};  ///< filled once the compute type is known
};

int category(Dtype dtype) { return is_complex(dtype) ? 3 : is_floating(dtype) ? 2 : is_integer(dtype) ? 1 : 0; }

/// Source: torch.result_type. A 0-dim tensor counts only if its category is higher.
Dtype result_dtype(const View& a, const View& b) {
    if ((a.rank() == 0) == (b.rank() == 0)) return promote(a.dtype, b.dtype);
    const Dtype tensor = a.rank() == 0 ? b.dtype : a.dtype;
    const Dtype zero_dim = a.rank() == 0 ? a.dtype : b.dtype;
    if (category(zero_dim) <= category(tensor)) return tensor;
    if (is_complex(zero_dim) && is_floating(tensor)) return promote_with_number(tensor, Dtype::complex64);
    return promote(tensor, zero_dim);
}

diopiError_t check_shapes(std::string_view op, const Operands& x) {
    const auto shape = broadcast_shapes(x.input.shape, x.other.shape);
    if (!shape) {
        return wrong_shape(op, "other", x.other.shape, "one that broadcasts with input's " + to_string(x.input.shape));
    }
    if (!std::ranges::equal(*shape, x.out.shape)) return wrong_shape(op, "out", x.out.shape, to_string(*shape));
    return diopiSuccess;
}

Operands with_tensor(diopiConstTensorHandle_t out, diopiConstTensorHandle_t input, diopiConstTensorHandle_t other) {
    Operands x{view(out), view(input), view(other)};
    x.result = result_dtype(x.input, x.other);
    return x;
}

Operands with_number(diopiConstTensorHandle_t out, diopiConstTensorHandle_t input, const diopiScalar_t* other) {
    Operands x{view(out), view(input), {}};
    x.other_is_number = true;
    x.other_number = *other;
    x.result = promote_with_number(x.input.dtype, from_c(other->stype));
    x.other.dtype = x.result;
    x.other.numel = 1;
    return x;
}

/// Whether a result may be stored in out (torch.can_cast).
diopiError_t check_out(std::string_view op, const Operands& x) {
    if (category(x.out.dtype) >= category(x.result)) return diopiSuccess;
    return unsupported(op, "out", x.out.dtype,
                       "a dtype that the result's " + std::string(name(x.result)) + " casts to");
}

diopiError_t check_operands(std::string_view op, const Operands& x) {
    const diopiError_t error = check_shapes(op, x);
    return error != diopiSuccess ? error : check_out(op, x);
}

/// Computes in dtype `compute`, whose C++ type is T.
template <class T, class F>
diopiError_t run(diopiContextHandle_t ctx, std::string_view op, Operands& x, Dtype compute, F& f) {
    if (x.other_is_number) {
        const T value = number<T>(x.other_number);
        std::memcpy(x.bytes, &value, sizeof value);
        x.other.data = x.bytes;
        x.other.dtype = compute;
    }
    const std::array ins = {x.input, x.other};
    return for_each_tile(ctx, op, {&x.out, 1}, ins, binary<T>(compute, f));
}

/// Runs make<T>() in the compute type of the operands that promotion and out's dtype ask for.
template <class Make>
diopiError_t run_wrapping(diopiContextHandle_t ctx, std::string_view op, Operands& x, Make&& make) {
    const std::array ins = {x.input, x.other};
    const View out = x.out;
    const bool via_bool = x.result == Dtype::boolean && out.dtype != Dtype::boolean;
    if (via_bool) {  // no wider type computes logically
        const diopiError_t error = require(ctx, out.shape, Dtype::boolean, x.out);
        if (error != diopiSuccess) return error;
    }
    const Dtype compute = compute_dtype(x.result, {&x.out, 1}, ins);
    const diopiError_t error = with_wrapping_type(compute, [&]<class T>() {
        auto f = make.template operator()<T>();
        return run<T>(ctx, op, x, compute, f);
    });
    if (error == diopiSuccess && via_bool) copy(x.out, out);
    return error;
}

diopiError_t add(diopiContextHandle_t ctx, std::string_view op, Operands x, const diopiScalar_t* alpha) {
    if (const diopiError_t error = check_operands(op, x); error != diopiSuccess) return error;
    diopiScalar_t one{};
    one.stype = diopi_dtype_int64;
    one.ival = 1;
    const diopiScalar_t& factor = alpha == nullptr ? one : *alpha;
    const bool whole = !is_floating(from_c(factor.stype)) ||
                       (factor.fval == std::trunc(factor.fval) && std::fabs(factor.fval) < 0x1p63);
    if (!whole && category(x.result) < 2) {
        return fail(diopiErrorOccurred, std::string(op) + ": alpha is " + std::to_string(factor.fval) +
                                            ", wanted an integral number for integral tensors");
    }
    return run_wrapping(ctx, op, x, [&]<class T>() { return AddScaled<T>{number<T>(factor)}; });
}

diopiError_t sub(diopiContextHandle_t ctx, std::string_view op, Operands x, const diopiScalar_t* alpha) {
    for (const Dtype dtype : {x.input.dtype, x.other_is_number ? from_c(x.other_number.stype) : x.other.dtype}) {
        if (dtype == Dtype::boolean) {
            return unsupported(op, "an operand", dtype, "numbers: use logical_xor or logical_not for bool");
        }
    }
    diopiScalar_t minus{};
    minus.stype = alpha == nullptr ? diopi_dtype_int64 : alpha->stype;
    if (is_floating(from_c(minus.stype))) {
        minus.fval = -alpha->fval;
    } else {
        minus.ival = static_cast<int64_t>(0 - static_cast<uint64_t>(alpha == nullptr ? 1 : alpha->ival));
    }
    // As a bool, -1 would be 1.
    if (minus.stype == diopi_dtype_bool) minus.stype = diopi_dtype_int64;
    return add(ctx, op, x, &minus);
}

diopiError_t mul(diopiContextHandle_t ctx, std::string_view op, Operands x) {
    if (const diopiError_t error = check_operands(op, x); error != diopiSuccess) return error;
    return run_wrapping(ctx, op, x, []<class T>() { return Multiply<T>{}; });
}

template <class T, bool kFloor>
diopiError_t divide_integers(diopiContextHandle_t ctx, std::string_view op, Operands& x, Dtype compute) {
    DivideInteger<T, kFloor> f;
    const diopiError_t error = run<T>(ctx, op, x, compute, f);
    if (error != diopiSuccess || !f.by_zero) return error;
    return fail(diopiErrorOccurred, std::string(op) + ": ZeroDivisionError: an integer was divided by 0");
}

template <bool kFloor>
diopiError_t divide_integers(diopiContextHandle_t ctx, std::string_view op, Operands& x) {
    if (x.result == Dtype::boolean) return unsupported(op, "input", x.result, "numbers when the quotient is rounded");
    const std::array ins = {x.input, x.other};
    const Dtype compute = compute_dtype(x.result, {&x.out, 1}, ins);
    if (compute == Dtype::uint64) return divide_integers<uint64_t, kFloor>(ctx, op, x, compute);
    return divide_integers<int64_t, kFloor>(ctx, op, x, Dtype::int64);
}

template <template <class> class F>
diopiError_t divide_reals(diopiContextHandle_t ctx, std::string_view op, Operands& x) {
    if (wide(x.result) == Dtype::float64) {
        F<double> f;
        return run<double>(ctx, op, x, Dtype::float64, f);
    }
    F<float> f;
    return run<float>(ctx, op, x, Dtype::float32, f);
}

diopiError_t divide_complex(diopiContextHandle_t ctx, std::string_view op, Operands& x) {
    const std::array ins = {x.input, x.other};
    const Dtype compute = compute_dtype(x.result, {&x.out, 1}, ins);
    if (compute == Dtype::complex64) {
        Divide<std::complex<float>> f;
        return run<std::complex<float>>(ctx, op, x, compute, f);
    }
    Divide<std::complex<double>> f;
    return run<std::complex<double>>(ctx, op, x, compute, f);
}

diopiError_t div(diopiContextHandle_t ctx, std::string_view op, Operands x, diopiRoundMode_t mode) {
    const bool rounds = mode != RoundModeNone;
    if (!rounds && category(x.result) < 2) x.result = Dtype::float32;
    if (const diopiError_t error = check_operands(op, x); error != diopiSuccess) return error;
    if (is_complex(x.result)) {
        if (rounds) return unsupported(op, "input", x.result, "real numbers when the quotient is rounded");
        return divide_complex(ctx, op, x);
    }
    const bool integral = category(x.result) < 2;
    switch (mode) {
        case RoundModeNone:
            return divide_reals<Divide>(ctx, op, x);
        case RoundModeTrunc:
            return integral ? divide_integers<false>(ctx, op, x) : divide_reals<DivideTrunc>(ctx, op, x);
        case RoundModeFloor:
            return integral ? divide_integers<true>(ctx, op, x) : divide_reals<DivideFloor>(ctx, op, x);
        case RoundModeEND:
            break;
    }
    return fail(diopiErrorOccurred, std::string(op) + ": no such rounding mode: " + std::to_string(mode));
}

}  // namespace

diopiError_t diopiAdd(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other, const diopiScalar_t* alpha) {
    return add(ctx, "diopiAdd", with_tensor(out, input, other), alpha);
}

diopiError_t diopiAddInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, diopiConstTensorHandle_t other,
                         const diopiScalar_t* alpha) {
    return add(ctx, "diopiAddInp", with_tensor(input, input, other), alpha);
}

diopiError_t diopiAddScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                            const diopiScalar_t* other, const diopiScalar_t* alpha) {
    return add(ctx, "diopiAddScalar", with_number(out, input, other), alpha);
}

diopiError_t diopiAddInpScalar(diopiContextHandle_t ctx, diopiTensorHandle_t input, const diopiScalar_t* other,
                               const diopiScalar_t* alpha) {
    return add(ctx, "diopiAddInpScalar", with_number(input, input, other), alpha);
}

diopiError_t diopiSub(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other, const diopiScalar_t* alpha) {
    return sub(ctx, "diopiSub", with_tensor(out, input, other), alpha);
}

diopiError_t diopiSubInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, diopiConstTensorHandle_t other,
                         const diopiScalar_t* alpha) {
    return sub(ctx, "diopiSubInp", with_tensor(input, input, other), alpha);
}

diopiError_t diopiSubScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                            const diopiScalar_t* other, const diopiScalar_t* alpha) {
    return sub(ctx, "diopiSubScalar", with_number(out, input, other), alpha);
}

diopiError_t diopiSubInpScalar(diopiContextHandle_t ctx, diopiTensorHandle_t input, const diopiScalar_t* other,
                               const diopiScalar_t* alpha) {
    return sub(ctx, "diopiSubInpScalar", with_number(input, input, other), alpha);
}

diopiError_t diopiMul(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other) {
    return mul(ctx, "diopiMul", with_tensor(out, input, other));
}

diopiError_t diopiMulInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, diopiConstTensorHandle_t other) {
    return mul(ctx, "diopiMulInp", with_tensor(input, input, other));
}

diopiError_t diopiMulScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                            const diopiScalar_t* other) {
    return mul(ctx, "diopiMulScalar", with_number(out, input, other));
}

diopiError_t diopiMulInpScalar(diopiContextHandle_t ctx, diopiTensorHandle_t input, const diopiScalar_t* other) {
    return mul(ctx, "diopiMulInpScalar", with_number(input, input, other));
}

diopiError_t diopiDiv(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other, diopiRoundMode_t rounding_mode) {
    return div(ctx, "diopiDiv", with_tensor(out, input, other), rounding_mode);
}

diopiError_t diopiDivInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, diopiConstTensorHandle_t other,
                         diopiRoundMode_t rounding_mode) {
    return div(ctx, "diopiDivInp", with_tensor(input, input, other), rounding_mode);
}

diopiError_t diopiDivScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                            const diopiScalar_t* other, diopiRoundMode_t rounding_mode) {
    return div(ctx, "diopiDivScalar", with_number(out, input, other), rounding_mode);
}

diopiError_t diopiDivInpScalar(diopiContextHandle_t ctx, diopiTensorHandle_t input, const diopiScalar_t* other,
                               diopiRoundMode_t rounding_mode) {
    return div(ctx, "diopiDivInpScalar", with_number(input, input, other), rounding_mode);
}

}  // namespace diopi::cpu
