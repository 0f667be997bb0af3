/// hardtanh, hardswish and leaky_relu: a polynomial of low degree on each side of a limit. NaN stays NaN.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/binary.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/unary.hpp"

namespace diopi::reference {

namespace {

/// A bound as an element: a fraction for integers is cut off, and one beyond them is the last of them.
int64_t bound_as(const diopiScalar_t& bound, Dtype dtype, int64_t) {
    return saturate_integer(scalar_as<int64_t>(bound), dtype);
}
double bound_as(const diopiScalar_t& bound, Dtype dtype, double) { return as_element(scalar_as<double>(bound), dtype); }

/// out = x < min ? min : x, then the same with max, which therefore wins where they contradict each other. All are NaN
/// where a bound is. Source: torch.nn.functional.hardtanh.
diopiError_t hardtanh(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      const diopiScalar_t* min_val, const diopiScalar_t* max_val) {
    return kernel([&] {
        const Dtype dtype = view_of(input).dtype;
        if (dtype == Dtype::boolean || is_complex(dtype)) refuse_dtype("input", dtype, "an integer or floating dtype");
        in_kind(dtype, [&]<class T>(T kind) {
            if constexpr (!std::is_same_v<T, Complex>) {
                const T low = bound_as(*min_val, dtype, kind), high = bound_as(*max_val, dtype, kind);
                map_kind<T>(out, input, [=](T x) {
                    if (low != low || high != high) return low + high;
                    const T raised = x < low ? low : x;
                    return raised > high ? high : raised;
                });
            }
        });
    });
}

void require_floating(std::string_view argument, diopiConstTensorHandle_t tensor) {
    const Dtype dtype = view_of(tensor).dtype;
    if (kind_of(dtype) != Kind::kFloating) refuse_dtype(argument, dtype, "a floating dtype");
}

/// grad_input = min < x < max ? g : 0: 0 where a number is NaN.
diopiError_t hardtanh_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                               diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                               const diopiScalar_t* min_val, const diopiScalar_t* max_val) {
    const Other all(input);
    const double low = number_as<double>(*min_val, input, all), high = number_as<double>(*max_val, input, all);
    return map_gradient(ctx, grad_input, grad_output, input,
                        [=]<class T>(T g, T x) { return x > low && T(high) > x ? g : T(0); });
}

/// out = x min(max(x + 3, 0), 6) / 6.
diopiError_t hardswish(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        require_floating("input", input);
        const Operand<T> x(input, "input");
        WriteOnly<T> y(out, "out");
        require_shape("out", y.shape(), x.shape());
        for (int64_t i = 0; i < x.numel(); ++i) {
            const T shifted = T(x[i]) + T(3);
            const T share = shifted <= 0.0 ? T(0) : shifted > 6.0 ? T(6) : shifted;
            y[i] = x[i] * share / T(6);
        }
        y.store();
    });
}

/// grad_input = g times 0 up to -3, 1 from 3 on, and x / 3 + 1 / 2 between; NaN where x is NaN.
/// Source: torch.ops.aten.hardswish_backward of PyTorch 2.
diopiError_t hardswish_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                                diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input) {
    return map_gradient(ctx, grad_input, grad_output, input, []<class T>(T g, T x) {
        if (x <= -3.0) return T(0);
        return T(3) <= x ? g : g * (x / T(3) + T(0.5));
    });
}

/// out = x > 0 ? x : slope x.
diopiError_t leaky_relu(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                        const diopiScalar_t* negative_slope) {
    return kernel([&] {
        require_floating("input", input);
        const double slope = number_as<double>(*negative_slope, input, input);
        map_kind<double>(out, input, [=](double x) { return x > 0 ? x : x * slope; });
    });
}

/// grad_input = x > 0 ? g : slope g, where x may be the forward function's result: it has the sign of the input unless
/// the slope is negative.
diopiError_t leaky_relu_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                                 diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                 const diopiScalar_t* negative_slope, bool input_is_result) {
    const double slope = number_as<double>(*negative_slope, input, input);
    if (input_is_result && slope < 0) {
        return kernel([&] { refuse("negative_slope is below 0, wanted none where input is the result"); });
    }
    return map_gradient(ctx, grad_input, grad_output, input,
                        [=]<class T>(T g, T x) { return x > 0.0 ? g : g * T(slope); });
}

}  // namespace

#include "kernels/entries/activation_piecewise.inc"

}  // namespace diopi::reference
