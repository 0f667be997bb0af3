/// The scale of a loss in mixed precision, and gradients without it.
#include <cmath>
#include <string>
#include <vector>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/reduction_norm.hpp"

namespace diopi::reference {

namespace {

/// found_inf = 1 if an element of scaled_grads is not finite; scaled_grads *= inv_scale. Source:
/// torch._amp_foreach_non_finite_check_and_unscale_.
diopiError_t unscale(diopiContextHandle_t, std::string_view, diopiTensorHandle_t* scaled_grads, int64_t count,
                     diopiTensorHandle_t found_inf, diopiConstTensorHandle_t inv_scale) {
    return kernel([&] {
        Output<double> found(found_inf, "found_inf", Output<double>::Start::kOldValues);
        const Operand<double> factor(inv_scale, "inv_scale");
        if (found.numel() != 1 || factor.numel() != 1 || count < 0) {
            refuse("found_inf, inv_scale and num_scaled_grads are of " + std::to_string(found.numel()) + ", " +
                   std::to_string(factor.numel()) + " and " + std::to_string(count) + ", wanted 1, 1 and 0 or more");
        }
        std::vector<Output<double>> grads;
        for (int64_t k = 0; k < count; ++k) {
            if (scaled_grads[k] == nullptr) refuse("tensor " + std::to_string(k) + " of scaled_grads is null");
            require_floating(scaled_grads[k]);
            grads.emplace_back(scaled_grads[k], "scaled_grads", Output<double>::Start::kOldValues);
        }
        for (Output<double>& grad : grads) {
            for (int64_t i = 0; i < grad.numel(); ++i) {
                if (!std::isfinite(grad[i])) found[0] = 1;
                grad[i] *= factor[0];
            }
            grad.store();
        }
        found.store();
    });
}

/// found_inf: scale *= backoff, tracker = 0. Else tracker += 1, and at the interval scale *= growth, if that is finite
/// in float32, and tracker = 0. Source: torch._amp_update_scale_.
diopiError_t update_scale(diopiContextHandle_t, std::string_view, diopiTensorHandle_t current_scale,
                          diopiTensorHandle_t growth_tracker, diopiConstTensorHandle_t found_inf, double growth,
                          double backoff, int32_t interval) {
    return kernel([&] {
        Output<double> scale(current_scale, "current_scale", Output<double>::Start::kOldValues);
        Output<int64_t> tracker(growth_tracker, "growth_tracker", Output<int64_t>::Start::kOldValues);
        const Operand<double> found(found_inf, "found_inf");
        const int64_t sizes[] = {scale.numel(), tracker.numel(), found.numel()};
        for (const int64_t size : sizes) {
            if (size != 1)
                refuse("current_scale, growth_tracker or found_inf has " + std::to_string(size) +
                       " elements, wanted 1");
        }
        const bool is_due = tracker[0] + 1 == interval;
        const double grown = scale[0] * growth;
        if (found[0] != 0) {
            scale[0] *= backoff;
        } else if (is_due && std::isfinite(static_cast<float>(grown))) {
            scale[0] = grown;
        }
        tracker[0] = found[0] != 0 || is_due ? 0 : tracker[0] + 1;
        scale.store();
        tracker.store();
    });
}

}  // namespace

#include "kernels/entries/amp.inc"

}  // namespace diopi::reference
