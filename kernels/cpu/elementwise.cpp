/// add, sub, mul with a tensor or a number, into out or in place.
#include <cmath>
#include <type_traits>

#include "kernels/cpu/operands.hpp"
#include "kernels/cpu/operators.hpp"

namespace diopi::cpu {

namespace {

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

diopiError_t add(diopiContextHandle_t ctx, std::string_view op, Operands x, const diopiScalar_t* alpha) {
    if (const diopiError_t error = check_any_operands(op, x); error != diopiSuccess) return error;
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
    for (const Dtype dtype : {x.input.dtype, x.other_is_number ? from_c(x.number.stype) : x.other.dtype}) {
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
    if (const diopiError_t error = check_any_operands(op, x); error != diopiSuccess) return error;
    return run_wrapping(ctx, op, x, []<class T>() { return Multiply<T>{}; });
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

}  // namespace diopi::cpu
