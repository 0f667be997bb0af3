/// Formulas on three tensors that broadcast to out.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/ternary.hpp"

namespace diopi::reference {

namespace {

/// A number acts in float32 where no tensor is float64 (PyTorch's opmath type).
double factor_of(const diopiScalar_t& value, std::initializer_list<diopiConstTensorHandle_t> tensors) {
    const double factor = scalar_as<double>(value);
    for (diopiConstTensorHandle_t tensor : tensors) {
        if (view_of(tensor).dtype == Dtype::float64) return factor;
    }
    return static_cast<double>(static_cast<float>(factor));
}

/// out = input + value * tensor1 * tensor2; integers wrap, and take the whole part of value.
diopiError_t addcmul(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                     diopiConstTensorHandle_t tensor1, diopiConstTensorHandle_t tensor2, const diopiScalar_t* value) {
    return kernel([&] {
        const Kind kind = kind_of_all({input, tensor1, tensor2});
        if (kind == Kind::kInteger) {
            const auto factor = static_cast<uint64_t>(scalar_as<int64_t>(*value));
            return combine<int64_t, int64_t>(
                out, input, tensor1, tensor2, dtype_of_all({input, tensor1, tensor2}),
                [=](int64_t a, int64_t b, int64_t c) {
                    return static_cast<int64_t>(static_cast<uint64_t>(a) +
                                                factor * static_cast<uint64_t>(b) * static_cast<uint64_t>(c));
                });
        }
        if (kind != Kind::kFloating) refuse_dtype("input", view_of(input).dtype, "an integer or floating dtype");
        const double factor = factor_of(*value, {input, tensor1, tensor2});
        combine<double, double>(out, input, tensor1, tensor2, dtype_of_all({input, tensor1, tensor2}),
                                [=](double a, double b, double c) { return a + factor * b * c; });
    });
}

/// out = input + value * tensor1 / tensor2.
diopiError_t addcdiv(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                     diopiConstTensorHandle_t tensor1, diopiConstTensorHandle_t tensor2, const diopiScalar_t* value) {
    return kernel([&] {
        if (kind_of_all({input, tensor1, tensor2}) != Kind::kFloating) {
            refuse_dtype("input", view_of(input).dtype, "a floating dtype");
        }
        const double factor = factor_of(*value, {input, tensor1, tensor2});
        combine<double, double>(out, input, tensor1, tensor2, dtype_of_all({input, tensor1, tensor2}),
                                [=](double a, double b, double c) { return a + factor * b / c; });
    });
}

}  // namespace

#include "kernels/entries/elementwise_ternary.inc"

}  // namespace diopi::reference
