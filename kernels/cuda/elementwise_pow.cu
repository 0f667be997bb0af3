/// Powers.
#include <string>

#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/operators.hpp"
#include "kernels/operands/promotion.hpp"

namespace diopi::cuda {

namespace {

/// By squaring, modulo 2^64; what lies between -1 and 1 for a negative exponent is cut off.
template <class C>
__device__ C integer_power(C base, C exponent) {
    if constexpr (std::is_signed_v<C>) {
        if (exponent < 0) return base == 1 ? 1 : base != -1 ? 0 : (exponent & 1) != 0 ? -1 : 1;
    }
    uint64_t result = 1, factor = static_cast<uint64_t>(base);
    for (auto rest = static_cast<uint64_t>(exponent); rest != 0; rest >>= 1) {
        if ((rest & 1) != 0) result *= factor;
        factor *= factor;
    }
    return static_cast<C>(result);
}

/// `reversed`: the second operand is the base.
template <class C>
struct Power {
    bool reversed;
    __device__ C operator()(C a, C b) const {
        const C base = reversed ? b : a, exponent = reversed ? a : b;
        if constexpr (std::is_integral_v<C>)
            return integer_power(base, exponent);
        else
            return pow(base, exponent);
    }
};

/// input to the power of other; `reversed`: the number in the place of other is the base.
diopiError_t power(diopiContextHandle_t ctx, std::string_view op, const Operands& x, bool reversed) {
    if (const diopiError_t error = check_real_operands(op, x); error != diopiSuccess) return error;
    if (x.result == Dtype::boolean) {
        return unsupported(op, "input", x.result, "an integer or floating dtype, or a number that is one");
    }
    if (category(x.result) == 1 && x.other_is_number && !reversed && x.number.ival < 0) {
        return fail(diopiErrorOccurred, std::string(op) + ": exponent is " + std::to_string(x.number.ival) +
                                            ", wanted none below 0 for integers; use a floating exponent");
    }
    return with_compute_type(x.result, [&]<class C>() {
        return map<C, 2>(ctx, op, x.out, {x.input, x.other}, Power<C>{reversed}, {C(0), number<C>(x.number)});
    });
}

}  // namespace

diopiError_t diopiPow(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      const diopiScalar_t* exponent) {
    return power(ctx, "diopiPow", with_number(out, input, exponent), false);
}
diopiError_t diopiPowInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, const diopiScalar_t* exponent) {
    return power(ctx, "diopiPowInp", with_number(input, input, exponent), false);
}
diopiError_t diopiPowTensor(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                            diopiConstTensorHandle_t exponent) {
    return power(ctx, "diopiPowTensor", with_tensor(out, input, exponent), false);
}
diopiError_t diopiPowInpTensor(diopiContextHandle_t ctx, diopiTensorHandle_t input, diopiConstTensorHandle_t exponent) {
    return power(ctx, "diopiPowInpTensor", with_tensor(input, input, exponent), false);
}
diopiError_t diopiPowScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out, const diopiScalar_t* input,
                            diopiConstTensorHandle_t exponent) {
    return power(ctx, "diopiPowScalar", with_number(out, exponent, input), true);
}

}  // namespace diopi::cuda
