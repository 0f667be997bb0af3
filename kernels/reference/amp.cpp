/// The scale of a loss in mixed precision.
#include <cmath>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

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
