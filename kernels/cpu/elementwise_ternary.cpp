/// Formulas on three tensors.
#include <cmath>

#include "kernels/cpu/operands.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/ternary.hpp"

namespace diopi::cpu {

namespace {

/// a + factor * b * c with one rounding of the sum.
template <class T>
struct AddProduct {
    T factor;
    T operator()(T a, T b, T c) const {
        if constexpr (std::is_integral_v<T>)
            return a + factor * b * c;
        else
            return std::fma(factor * b, c, a);
    }
};

struct AddQuotient {
    double factor;
    double operator()(double a, double b, double c) const { return a + factor * b / c; }
};

/// The dtype that all operands promote to.
Dtype common_dtype(std::span<const View> ins) {
    Dtype dtype = ins[0].dtype;
    for (const View& in : ins.subspan(1)) dtype = promote(dtype, in.dtype);
    return dtype;
}

/// out = input + value * tensor1 * tensor2, or value * tensor1 / tensor2 for floating tensors only.
diopiError_t add_scaled(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                        const std::array<View, 3>& ins, const diopiScalar_t& value, bool divides) {
    const View y = view(out);
    const Dtype dtype = common_dtype(ins);
    if (category(dtype) != 2 && (divides || category(dtype) != 1)) {
        return unsupported(op, "input", dtype, divides ? "a floating dtype" : "an integer or floating dtype");
    }
    if (divides) {
        // In float64: a quotient by a denormal float32 is a number there, and infinity in float32.
        AddQuotient f{number<double>(value)};
        return for_each_tile(ctx, op, {&y, 1}, ins, ternary<double>(Dtype::float64, f));
    }
    const auto in_type = [&]<class T>(Dtype compute) {
        AddProduct<T> f{number<T>(value)};
        return for_each_tile(ctx, op, {&y, 1}, ins, ternary<T>(compute, f));
    };
    if (category(dtype) == 1) return in_type.template operator()<uint64_t>(Dtype::int64);
    if (wide(dtype) == Dtype::float64) return in_type.template operator()<double>(Dtype::float64);
    return in_type.template operator()<float>(Dtype::float32);
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

}  // namespace diopi::cpu
