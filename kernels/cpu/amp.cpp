/// The scale of a loss in mixed precision, and gradients without it.
#include <cmath>
#include <limits>
#include <string>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/reduction_norm.hpp"
#include "kernels/cpu/view.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

diopiError_t check_state(std::string_view op, std::string_view argument, const View& v, Dtype dtype) {
    if (v.numel != 1) return wrong_shape(op, argument, v.shape, "one element");
    return v.dtype == dtype ? diopiSuccess : unsupported(op, argument, v.dtype, name(dtype));
}

/// found_inf = 1 if an element of scaled_grads is not finite; scaled_grads *= inv_scale. All tensors are checked before
/// the first one changes. Source: torch._amp_foreach_non_finite_check_and_unscale_.
diopiError_t unscale(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t* scaled_grads, int64_t count,
                     diopiTensorHandle_t found_inf, diopiConstTensorHandle_t inv_scale) {
    constexpr double kLargest = std::numeric_limits<double>::infinity();
    const View found = view(found_inf), factor = view(inv_scale);
    diopiError_t error = check_state(op, "found_inf", found, Dtype::float32);
    if (error == diopiSuccess) error = check_state(op, "inv_scale", factor, Dtype::float32);
    if (error == diopiSuccess && count < 0) {
        error = refuse(op, "num_scaled_grads is " + std::to_string(count) + ", wanted 0 or more");
    }
    bool is_finite = true;
    for (int64_t k = 0; error == diopiSuccess && k < count; ++k) {
        if (scaled_grads[k] == nullptr) return null_in_list(op, "scaled_grads", k);
        const View grad = view(scaled_grads[k]);
        if (!is_floating(grad.dtype)) return unsupported(op, "scaled_grads", grad.dtype, "a floating dtype");
        if (grad.numel == 0) continue;
        double largest = 0;
        error = norm_over(op, element(&largest, Dtype::float64), grad, {}, kLargest);
        is_finite = is_finite && std::isfinite(largest);
    }
    if (error != diopiSuccess) return error;
    const diopiScalar_t number{diopi_dtype_float64, {.fval = *factor.as<float>()}};
    for (int64_t k = 0; k < count && error == diopiSuccess; ++k) {
        error = diopiMulInpScalar(ctx, scaled_grads[k], &number);
    }
    if (!is_finite) *found.as<float>() = 1;
    return error;
}

/// found_inf: scale *= backoff, tracker = 0. Else tracker += 1, and at the interval scale *= growth, if that is finite,
/// and tracker = 0. Source: torch._amp_update_scale_.
diopiError_t update_scale(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t current_scale,
                          diopiTensorHandle_t growth_tracker, diopiConstTensorHandle_t found_inf, double growth,
                          double backoff, int32_t interval) {
    const View scale = view(current_scale), tracker = view(growth_tracker), found = view(found_inf);
    diopiError_t error = check_state(op, "current_scale", scale, Dtype::float32);
    if (error == diopiSuccess) error = check_state(op, "growth_tracker", tracker, Dtype::int32);
    if (error == diopiSuccess) error = check_state(op, "found_inf", found, Dtype::float32);
    if (error != diopiSuccess) return error;
    auto& factor = *scale.as<float>();
    auto& steps = *tracker.as<int32_t>();
    const bool overflowed = *found.as<float>() != 0, is_due = steps + 1 == interval;
    const auto grown = static_cast<float>(static_cast<double>(factor) * growth);
    if (overflowed) {
        factor = static_cast<float>(static_cast<double>(factor) * backoff);
    } else if (is_due && std::isfinite(grown)) {
        factor = grown;
    }
    steps = overflowed || is_due ? 0 : steps + 1;
    return diopiSuccess;
}

}  // namespace

#include "kernels/entries/amp.inc"

}  // namespace diopi::cpu
