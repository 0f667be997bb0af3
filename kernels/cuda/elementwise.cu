/// add, sub, mul with a tensor or a number, into out or in place.
#include <cmath>
#include <string>

#include "kernels/cuda/binary.cuh"
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
        else if constexpr (kIsComplex<C>)
            return {fma(alpha.real, b.real, a.real), fma(alpha.real, b.imag, a.imag)};
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
        else if constexpr (kIsComplex<C>)
            return {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
        else
            return a * b;
    }
};

/// The number 1 where a call leaves its factor out.
diopiScalar_t factor_of(const diopiScalar_t* alpha) { return alpha != nullptr ? *alpha : whole_number(1); }

diopiError_t add(diopiContextHandle_t ctx, std::string_view op, const Operands& x, const diopiScalar_t* alpha) {
    if (const diopiError_t error = check_any_operands(op, x); error != diopiSuccess) return error;
    const diopiScalar_t factor = factor_of(alpha);
    if (!is_whole(factor) && category(x.result) < 2) {
        return fail(diopiErrorOccurred, std::string(op) + ": alpha is " + std::to_string(factor.fval) +
                                            ", wanted an integral number for integral tensors");
    }
    if (x.result == Dtype::boolean) return map_operands<int64_t>(ctx, op, x, AddBool{number<bool>(factor)});
    return with_any_compute_type(
        x.result, [&]<class C>() { return map_operands<C>(ctx, op, x, AddScaled<C>{compute_number<C>(factor)}); });
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
    if (const diopiError_t error = check_any_operands(op, x); error != diopiSuccess) return error;
    return with_any_compute_type(x.result, [&]<class C>() { return map_operands<C>(ctx, op, x, Multiply<C>{}); });
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

}  // namespace diopi::cuda
