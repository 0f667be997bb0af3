/// Powers.
#include "kernels/cuda/element/binary.cuh"
#include "kernels/cuda/operators.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cuda {

namespace {

/// Computed by squaring, modulo 2^64; a result between -1 and 1, of a negative exponent, is cut off to 0.
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
            return exponent == C(2) ? base * base : pow(base, exponent);
    }
};

/// input to the power of other; `reversed`: the number in the place of other is the base.
diopiError_t power(diopiContextHandle_t ctx, std::string_view op, Operands x, bool reversed) {
    if (const diopiError_t error = read_power(op, x, reversed); error != diopiSuccess) return error;
    return with_compute_type(x.result, [&]<class C>() { return map_operands<C>(ctx, op, x, Power<C>{reversed}); });
}

diopiError_t power(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                   diopiConstTensorHandle_t input, const Other& exponent) {
    return power(ctx, op, operands_of(out, input, exponent), false);
}

diopiError_t power_of_number(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                             const diopiScalar_t* base, diopiConstTensorHandle_t exponent) {
    return power(ctx, op, with_number(out, exponent, base), true);
}

}  // namespace

#include "kernels/entries/elementwise_pow.inc"

}  // namespace diopi::cuda
