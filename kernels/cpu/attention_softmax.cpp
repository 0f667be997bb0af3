/// Softmax of scaled and masked attention scores: the rows of softmax, with a pass before that makes the scores.
#include "kernels/operands/attention_softmax.hpp"
#include "kernels/cpu/activation_softmax.hpp"
#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

/// The score of a hidden key.
constexpr float kHiddenScore = -10'000;

template <class T>
void scale_row(const T* x, T scale, T* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = x[i] * scale;
}

/// Half types compute as float32 tensors.
template <class T>
diopiError_t forward(diopiContextHandle_t ctx, const View& output, const View& input, const HiddenKeys& hidden,
                     double scale) {
    Staging staging(ctx);
    const auto* x = staging.in<T>(input);
    auto* y = staging.out<T>(output);
    if (staging.error() != diopiSuccess) return staging.error();
    const int64_t keys = hidden.keys();
    const auto& kernels = softmax_kernels<T>();
    for_each_row({hidden.rows(), keys, 1}, [&](int64_t r) {
        T* row = y + r * keys;
        scale_row(x + r * keys, static_cast<T>(scale), row, keys);
        hidden.set(r, row, T{kHiddenScore});
        kernels.row(row, row, keys, 1);
    });
    return staging.finish();
}

template <class T>
diopiError_t backward(diopiContextHandle_t ctx, const View& grad_input, const View& grad_output, const View& output,
                      const HiddenKeys& hidden, double scale) {
    Staging staging(ctx);
    const auto* g = staging.in<T>(grad_output);
    const auto* y = staging.in<T>(output);
    auto* grad = staging.out<T>(grad_input);
    if (staging.error() != diopiSuccess) return staging.error();
    const int64_t keys = hidden.keys();
    const auto& kernels = softmax_kernels<T>();
    for_each_row({hidden.rows(), keys, 1}, [&](int64_t r) {
        T* row = grad + r * keys;
        kernels.gradient_row(g + r * keys, y + r * keys, row, keys, false);
        scale_row(row, static_cast<T>(scale), row, keys);
        hidden.set(r, row, T{0});
    });
    return staging.finish();
}

diopiError_t scaled_masked_softmax(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t output,
                                   diopiConstTensorHandle_t input, diopiConstTensorHandle_t mask, double scale,
                                   bool fixed_triu_mask) {
    const View y = view(output), x = view(input);
    HiddenKeys hidden;
    diopiError_t error = read_masked_scores(op, "input", x, view(mask), fixed_triu_mask, hidden);
    if (error == diopiSuccess) error = check_computable(op, "output", y);
    if (error == diopiSuccess) error = check_shape(op, "output", y, x.shape);
    if (error != diopiSuccess || x.numel == 0) return error;
    const bool wide = x.dtype == Dtype::float64 || y.dtype == Dtype::float64;
    return (wide ? forward<double> : forward<float>)(ctx, y, x, hidden, scale);
}

diopiError_t scaled_masked_softmax_backward(diopiContextHandle_t ctx, std::string_view op,
                                            diopiTensorHandle_t grad_input, diopiConstTensorHandle_t grad_output,
                                            diopiConstTensorHandle_t output, diopiConstTensorHandle_t mask,
                                            double scale, bool fixed_triu_mask) {
    const View grad = view(grad_input), g = view(grad_output), y = view(output);
    HiddenKeys hidden;
    diopiError_t error = read_masked_scores(op, "output", y, view(mask), fixed_triu_mask, hidden);
    for (const auto& [tensor, argument] : {std::pair{&g, "grad_output"}, {&grad, "grad_input"}}) {
        if (error == diopiSuccess) error = check_computable(op, argument, *tensor);
        if (error == diopiSuccess) error = check_shape(op, argument, *tensor, y.shape);
    }
    if (error != diopiSuccess || y.numel == 0) return error;
    const bool wide = y.dtype == Dtype::float64 || g.dtype == Dtype::float64 || grad.dtype == Dtype::float64;
    return (wide ? backward<double> : backward<float>)(ctx, grad, g, y, hidden, scale);
}

}  // namespace

#include "kernels/entries/attention_softmax.inc"

}  // namespace diopi::cpu
