/// Formulas on three tensors.
#include <cmath>

#include "kernels/cpu/operands.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"

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

/// a + factor * b / c, computed in float64: float32 would lose digits of a product below its normal numbers, which the
/// quotient magnifies, and would overflow before it.
template <class T>
struct AddQuotient {
    double factor;
    T operator()(T a, T b, T c) const { return static_cast<T>(double{a} + factor * double{b} / double{c}); }
};

/// The same in float32, for factors of 2^-16 to 1 whose float32 is exact: a small b is scaled, so that no digit is
/// lost.
struct AddQuotientInFloat {
    float factor;
    float operator()(float a, float b, float c) const {
        // Only the scales are chosen: GCC makes two divisions of a choice between two dividends.
        const bool is_small = std::fabs(b) < 0x1p-110F;
        const float up = is_small ? 0x1p48F : 1.0F, down = is_small ? 0x1p-48F : 1.0F;
        return std::fma(factor * (b * up) / c, down, a);
    }
    [[nodiscard]] static bool takes(double factor) {
        return std::fabs(factor) >= 0x1p-16 && std::fabs(factor) <= 1 && double{static_cast<float>(factor)} == factor;
    }
};

/// out = input + value * tensor1 * tensor2.
diopiError_t addcmul(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                     diopiConstTensorHandle_t input, diopiConstTensorHandle_t tensor1, diopiConstTensorHandle_t tensor2,
                     const diopiScalar_t* value) {
    const View y = view(out);
    const std::array ins = {view(input), view(tensor1), view(tensor2)};
    Dtype result{};
    if (const diopiError_t error = read_scaled_term(op, ins, false, result); error != diopiSuccess) return error;
    const auto in_type = [&]<class T>(Dtype compute, const View& to) {
        AddProduct<T> f{number<T>(*value)};
        return for_each_tile(ctx, op, {&to, 1}, ins, ternary<T>(compute, f));
    };
    if (is_integer(result)) {
        return in_result_dtype(ctx, op, y, result,
                               [&](const View& to) { return in_type.template operator()<uint64_t>(Dtype::int64, to); });
    }
    if (wide(result) == Dtype::float64) return in_type.template operator()<double>(Dtype::float64, y);
    return in_type.template operator()<float>(Dtype::float32, y);
}

/// out = input + value * tensor1 / tensor2.
diopiError_t addcdiv(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                     diopiConstTensorHandle_t input, diopiConstTensorHandle_t tensor1, diopiConstTensorHandle_t tensor2,
                     const diopiScalar_t* value) {
    const View y = view(out);
    const std::array ins = {view(input), view(tensor1), view(tensor2)};
    Dtype result{};
    if (const diopiError_t error = read_scaled_term(op, ins, true, result); error != diopiSuccess) return error;
    const auto factor = number<double>(*value);
    const auto in_type = [&]<class T>(Dtype compute) {
        AddQuotient<T> f{factor};
        return for_each_tile(ctx, op, {&y, 1}, ins, ternary<T>(compute, f));
    };
    if (wide(result) == Dtype::float32 && AddQuotientInFloat::takes(factor)) {
        AddQuotientInFloat f{static_cast<float>(factor)};
        return for_each_tile(ctx, op, {&y, 1}, ins, ternary<float>(Dtype::float32, f));
    }
    if (wide(result) == Dtype::float64) return in_type.template operator()<double>(Dtype::float64);
    return in_type.template operator()<float>(Dtype::float32);
}

}  // namespace

#include "kernels/entries/elementwise_ternary.inc"

}  // namespace diopi::cpu
