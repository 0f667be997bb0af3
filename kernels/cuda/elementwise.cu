/// add, sub, mul with a tensor or a number, into out or in place.
#include "kernels/cuda/element/binary.cuh"
#include "kernels/cuda/operators.hpp"
#include "kernels/entries/entries.hpp"

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

template <auto kReadFactor>
diopiError_t add_scaled(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                        diopiConstTensorHandle_t input, const Other& other, const diopiScalar_t* alpha) {
    const Operands x = operands_of(out, input, other);
    diopiScalar_t factor{};
    if (const diopiError_t error = kReadFactor(op, x, alpha, factor); error != diopiSuccess) return error;
    if (x.result == Dtype::boolean) return map_operands<int64_t>(ctx, op, x, AddBool{number<bool>(factor)});
    return with_any_compute_type(
        x.result, [&]<class C>() { return map_operands<C>(ctx, op, x, AddScaled<C>{compute_number<C>(factor)}); });
}
constexpr auto add = add_scaled<read_sum>, sub = add_scaled<read_difference>;

diopiError_t mul(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                 const Other& other) {
    const Operands x = operands_of(out, input, other);
    if (const diopiError_t error = check_any_operands(op, x); error != diopiSuccess) return error;
    return with_any_compute_type(x.result, [&]<class C>() { return map_operands<C>(ctx, op, x, Multiply<C>{}); });
}

}  // namespace

#include "kernels/entries/elementwise.inc"

}  // namespace diopi::cuda
