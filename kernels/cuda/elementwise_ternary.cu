/// Formulas on three tensors.
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/operators.hpp"
#include "kernels/operands/promotion.hpp"

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

struct AddQuotient {
    double factor;
    __device__ double operator()(double a, double b, double c) const { return a + factor * b / c; }
};

/// out = input + value * tensor1 * tensor2, or value * tensor1 / tensor2 for floating tensors only.
diopiError_t add_scaled(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                        const std::array<View, 3>& ins, const diopiScalar_t& value, bool divides) {
    const View y = view(out);
    const Dtype dtype = promote(promote(ins[0].dtype, ins[1].dtype), ins[2].dtype);
    if (category(dtype) != 2 && (divides || category(dtype) != 1)) {
        return unsupported(op, "input", dtype, divides ? "a floating dtype" : "an integer or floating dtype");
    }
    if (is_complex(y.dtype)) return unsupported(op, "out", y.dtype, "a real dtype");
    // In float64: a quotient by a denormal float32 is a number there, and infinity in float32.
    if (divides) return map<double, 3>(ctx, op, y, ins, AddQuotient{number<double>(value)});
    return with_compute_type(dtype,
                             [&]<class C>() { return map<C, 3>(ctx, op, y, ins, AddProduct<C>{number<C>(value)}); });
}

}  // namespace

diopiError_t diopiAddcmul(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t tensor1, diopiConstTensorHandle_t tensor2,
                          const diopiScalar_t* value) {
    return add_scaled(ctx, "diopiAddcmul", out, {view(input), view(tensor1), view(tensor2)}, *value, false);
}
diopiError_t diopiAddcmulInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, diopiConstTensorHandle_t tensor1,
                             diopiConstTensorHandle_t tensor2, const diopiScalar_t* value) {
    return add_scaled(ctx, "diopiAddcmulInp", input, {view(input), view(tensor1), view(tensor2)}, *value, false);
}
diopiError_t diopiAddcdiv(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t tensor1, diopiConstTensorHandle_t tensor2,
                          const diopiScalar_t* value) {
    return add_scaled(ctx, "diopiAddcdiv", out, {view(input), view(tensor1), view(tensor2)}, *value, true);
}
diopiError_t diopiAddcdivInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, diopiConstTensorHandle_t tensor1,
                             diopiConstTensorHandle_t tensor2, const diopiScalar_t* value) {
    return add_scaled(ctx, "diopiAddcdivInp", input, {view(input), view(tensor1), view(tensor2)}, *value, true);
}

}  // namespace diopi::cuda
