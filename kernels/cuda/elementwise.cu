/// add, sub, mul, div with a tensor or a number, into out or in place.
#include <cmath>
#include <string>

#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/operands.hpp"
#include "kernels/cuda/operators.hpp"

namespace diopi::cuda {

namespace {

/// a + alpha * b, rounded once for real numbers; integers wrap.
template <class C>
struct AddScaled {
    C alpha;
    __device__ C operator()(C a, C b) const {
        if constexpr (std::is_integral_v<C>)
            return static_cast<C>(static_cast<uint64_t>(a) + static_cast<uint64_t>(alpha) * static_cast<uint64_t>(b));
        else
            return fma(alpha, b, a);
    }
};

/// The sum of truth values, also where out is a number.
struct AddBool {
    bool alpha;
    __device__ int64_t operator()(int64_t a, int64_t b) const { return a != 0 || (alpha && b != 0) ? 1 : 0; }
};

template <class C>
struct Multiply {
    __device__ C operator()(C a, C b) const {
        if constexpr (std::is_integral_v<C>)
            return static_cast<C>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
        else
            return a * b;
    }
};

template <class C>
struct Divide {
    __device__ C operator()(C a, C b) const { return a / b; }
};

template <class C>
struct DivideTrunc {
    __device__ C operator()(C a, C b) const { return trunc(a / b); }
};

/// Source: torch.div with rounding_mode "floor": the quotient of what fmod leaves, which is whole but for its rounding.
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

/// Division by 0 gives 0: an error would need a synchronisation, and PyTorch leaves the result open on a GPU.
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

template <class C, class F>
diopiError_t run(diopiContextHandle_t ctx, std::string_view op, const Operands& x, F f) {
    return map<C, 2>(ctx, op, x.out, {x.input, x.other}, f, {C(0), number<C>(x.number)});
}

/// The number 1 where a call leaves its factor out.
diopiScalar_t factor_of(const diopiScalar_t* alpha) {
    if (alpha != nullptr) return *alpha;
    diopiScalar_t one{};
    one.stype = diopi_dtype_int64;
    one.ival = 1;
    return one;
}

bool is_whole(const diopiScalar_t& x) {
    return !is_floating(from_c(x.stype)) || (x.fval == std::trunc(x.fval) && std::fabs(x.fval) < 0x1p63);
}

diopiError_t add(diopiContextHandle_t ctx, std::string_view op, const Operands& x, const diopiScalar_t* alpha) {
    if (const diopiError_t error = check_operands(op, x); error != diopiSuccess) return error;
    const diopiScalar_t factor = factor_of(alpha);
    if (!is_whole(factor) && category(x.result) < 2) {
        return fail(diopiErrorOccurred, std::string(op) + ": alpha is " + std::to_string(factor.fval) +
                                            ", wanted an integral number for integral tensors");
    }
    if (x.result == Dtype::boolean) return run<int64_t>(ctx, op, x, AddBool{number<int64_t>(factor) != 0});
    return with_compute_type(x.result, [&]<class C>() { return run<C>(ctx, op, x, AddScaled<C>{number<C>(factor)}); });
}

diopiError_t sub(diopiContextHandle_t ctx, std::string_view op, const Operands& x, const diopiScalar_t* alpha) {
    const Dtype other = x.other_is_number ? from_c(x.number.stype) : x.other.dtype;
    for (const Dtype dtype : {x.input.dtype, other}) {
        if (dtype == Dtype::boolean) {
            return unsupported(op, "an operand", dtype, "numbers: use logical_xor or logical_not for bool");
        }
    }
    diopiScalar_t minus = factor_of(alpha);
    if (is_floating(from_c(minus.stype))) {
        minus.fval = -minus.fval;
    } else {
        minus.ival = static_cast<int64_t>(0 - static_cast<uint64_t>(minus.ival));
        minus.stype = diopi_dtype_int64;
    }
    return add(ctx, op, x, &minus);
}

diopiError_t mul(diopiContextHandle_t ctx, std::string_view op, const Operands& x) {
    if (const diopiError_t error = check_operands(op, x); error != diopiSuccess) return error;
    return with_compute_type(x.result, [&]<class C>() { return run<C>(ctx, op, x, Multiply<C>{}); });
}

template <bool kFloor>
diopiError_t divide_integers(diopiContextHandle_t ctx, std::string_view op, const Operands& x) {
    if (x.result == Dtype::boolean) return unsupported(op, "input", x.result, "numbers when the quotient is rounded");
    if (x.result == Dtype::uint64) return run<uint64_t>(ctx, op, x, DivideInteger<uint64_t, kFloor>{});
    return run<int64_t>(ctx, op, x, DivideInteger<int64_t, kFloor>{});
}

template <template <class> class F>
diopiError_t divide_reals(diopiContextHandle_t ctx, std::string_view op, const Operands& x) {
    if (x.result == Dtype::float64) return run<double>(ctx, op, x, F<double>{});
    return run<float>(ctx, op, x, F<float>{});
}

diopiError_t div(diopiContextHandle_t ctx, std::string_view op, Operands x, diopiRoundMode_t mode) {
    const bool integral = category(x.result) < 2;
    if (integral && mode == RoundModeNone) x.result = Dtype::float32;
    if (const diopiError_t error = check_operands(op, x); error != diopiSuccess) return error;
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

}  // namespace diopi::cuda
