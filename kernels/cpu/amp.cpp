/// The scale of a loss in mixed precision.
#include <cmath>
#include <string>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/view.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

/// found_inf: scale *= backoff, tracker = 0. Else tracker += 1, and at the interval scale *= growth, if that is finite,
/// and tracker = 0. Source: torch._amp_update_scale_.
diopiError_t update_scale(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t current_scale,
                          diopiTensorHandle_t growth_tracker, diopiConstTensorHandle_t found_inf, double growth,
                          double backoff, int32_t interval) {
    struct Argument {
        std::string_view name;
        View v;
        Dtype dtype;
    };
    const View scale = view(current_scale), tracker = view(growth_tracker), found = view(found_inf);
    for (const auto& [argument, v, dtype] : {Argument{"current_scale", scale, Dtype::float32},
                                             {"growth_tracker", tracker, Dtype::int32},
                                             {"found_inf", found, Dtype::float32}}) {
        if (v.numel != 1) return wrong_shape(op, argument, v.shape, "one element");
        if (v.dtype != dtype) return unsupported(op, argument, v.dtype, name(dtype));
    }
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
