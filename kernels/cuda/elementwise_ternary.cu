/// Formulas on three tensors.
#include <algorithm>

#include "kernels/cuda/element/binary.cuh"
#include "kernels/cuda/operators.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cuda {

namespace {

/// a + factor * b * c with one rounding of the sum; integers wrap.
template <class C>
struct AddProduct {
    C factor;
    __device__ C operator()(C a, C b, C c) const {
        if constexpr (std::is_integral_v<C>) {
            const uint64_t product = static_cast<uint64_t>(factor) * static_cast<uint64_t>(b);
            return static_cast<C>(static_cast<uint64_t>(a) + product * static_cast<uint64_t>(c));
        } else {
            return fma(factor * b, c, a);
        }
    }
};

/// In float64 for all dtypes: a quotient by a denormal float32 is a number there, and infinity in float32.
template <class C>
struct AddQuotient {
    double factor;
    __device__ double operator()(C a, C b, C c) const { return a + factor * b / c; }
};

/// The operands of addcmul and addcdiv, and the dtype of their result.
struct ScaledTerm {
    View out;
    std::array<View, 3> ins;
    Dtype result = Dtype::float32;

    [[nodiscard]] diopiError_t read(std::string_view op, bool divides) {
        const diopiError_t error = read_scaled_term(op, ins, divides, result);
        if (error != diopiSuccess || !is_complex(out.dtype)) return error;
        return unsupported(op, "out", out.dtype, "a real dtype");
    }
};

/// out = input + value * tensor1 * tensor2.
diopiError_t addcmul(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                     diopiConstTensorHandle_t input, diopiConstTensorHandle_t tensor1, diopiConstTensorHandle_t tensor2,
                     const diopiScalar_t* value) {
    ScaledTerm x{view(out), {view(input), view(tensor1), view(tensor2)}};
    if (const diopiError_t error = x.read(op, false); error != diopiSuccess) return error;
    return in_result_dtype(ctx, op, x.out, x.result, [&](const View& to) {
        return with_compute_type(
            x.result, [&]<class C>() { return map<C, 3>(ctx, op, to, x.ins, AddProduct<C>{number<C>(*value)}); });
    });
}

/// out = input + value * tensor1 / tensor2.
diopiError_t addcdiv(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                     diopiConstTensorHandle_t input, diopiConstTensorHandle_t tensor1, diopiConstTensorHandle_t tensor2,
                     const diopiScalar_t* value) {
    ScaledTerm x{view(out), {view(input), view(tensor1), view(tensor2)}};
    if (const diopiError_t error = x.read(op, true); error != diopiSuccess) return error;
    const auto is_narrow = [](const View& v) { return is_floating(v.dtype) && v.dtype != Dtype::float64; };
    const double factor = number<double>(*value);
    if (std::ranges::all_of(x.ins, is_narrow)) return map<float, 3>(ctx, op, x.out, x.ins, AddQuotient<float>{factor});
    return map<double, 3>(ctx, op, x.out, x.ins, AddQuotient<double>{factor});
}

}  // namespace

#include "kernels/entries/elementwise_ternary.inc"

}  // namespace diopi::cuda
