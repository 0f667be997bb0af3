/// Softmax and its logarithm: rows when the dimension is the last one, else columns of a few vectors side by side.
#include "kernels/cpu/activation_softmax.hpp"

#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/activation.hpp"

namespace diopi::cpu {

namespace {

/// The rows of a tensor along its dimension `dim`; a 0-dim tensor has one element.
SoftmaxShape shape_along(const View& x, int64_t dim) {
    if (x.rank() == 0) return {};
    const auto d = static_cast<size_t>(dim);
    return {numel(x.shape.subspan(0, d)), x.shape[d], numel(x.shape.subspan(d + 1))};
}

template <class E>
diopiError_t run_forward(diopiContextHandle_t ctx, const SoftmaxShape& shape, const View& out, const View& input,
                         bool logarithm) {
    Staging staging(ctx);
    const auto* x = staging.in<E>(input);
    auto* y = staging.out<E>(out);
    if (staging.error() != diopiSuccess) return staging.error();
    softmax(shape, x, y, logarithm);
    return staging.finish();
}

template <bool kLogarithm>
diopiError_t softmax_along(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input, int64_t dim) {
    const View x = view(input), y = view(out);
    if (const diopiError_t error = read_softmax(op, x, y, dim); error != diopiSuccess) return error;
    if (x.numel == 0) return diopiSuccess;
    return with_elements({x.dtype, y.dtype},
                         [&]<class E, class>() { return run_forward<E>(ctx, shape_along(x, dim), y, x, kLogarithm); });
}

template <class E>
diopiError_t run_backward(diopiContextHandle_t ctx, const SoftmaxShape& s, const View& grad_input,
                          const View& grad_output, const View& output, bool logarithm) {
    Staging staging(ctx);
    const auto* g = staging.in<E>(grad_output);
    const auto* y = staging.in<E>(output);
    auto* grad = staging.out<E>(grad_input);
    if (staging.error() != diopiSuccess) return staging.error();
    const SoftmaxKernels<E>& kernels = softmax_kernels<E>();
    if (s.inner == 1) {
        for_each_row(s, [&](int64_t row) {
            const int64_t at = row * s.size;
            kernels.gradient_row(g + at, y + at, grad + at, s.size, logarithm);
        });
    } else {
        for_each_block(s, [&](int64_t outer, int64_t column, int64_t columns) {
            const int64_t at = outer * s.size * s.inner + column;
            kernels.gradient_columns(g + at, y + at, grad + at, s.size, s.inner, columns, logarithm);
        });
    }
    return staging.finish();
}

template <bool kLogarithm>
diopiError_t softmax_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                              diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t output, int64_t dim) {
    const View g = view(grad_output), y = view(output), grad = view(grad_input);
    if (const diopiError_t error = read_softmax_gradient(op, g, y, grad, dim); error != diopiSuccess) return error;
    if (y.numel == 0) return diopiSuccess;
    return with_elements({y.dtype, g.dtype, grad.dtype}, [&]<class E, class>() {
        return run_backward<E>(ctx, shape_along(y, dim), grad, g, y, kLogarithm);
    });
}

}  // namespace

template <class E>
void softmax(const SoftmaxShape& s, const E* x, E* out, bool logarithm) {
    if (s.numel() == 0) return;
    const SoftmaxKernels<E>& kernels = softmax_kernels<E>();
    if (s.inner == 1) {
        for_each_row(s, [&](int64_t row) {
            const int64_t at = row * s.size;
            if (logarithm)
                kernels.log_row(x + at, out + at, s.size);
            else
                kernels.row(x + at, out + at, s.size, 1);
        });
        return;
    }
    for_each_block(s, [&](int64_t outer, int64_t column, int64_t columns) {
        const int64_t at = outer * s.size * s.inner + column;
        PowerSums sums;
        kernels.sum_columns(x + at, s.size, s.inner, columns, sums);
        if (logarithm)
            kernels.log_columns(x + at, out + at, s.size, s.inner, columns, sums);
        else
            kernels.columns(x + at, out + at, s.size, s.inner, columns, sums, nullptr);
    });
}
template void softmax(const SoftmaxShape& shape, const float* x, float* out, bool logarithm);
template void softmax(const SoftmaxShape& shape, const double* x, double* out, bool logarithm);

#include "kernels/entries/activation_softmax.inc"

}  // namespace diopi::cpu
