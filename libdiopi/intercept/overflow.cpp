#include "intercept/overflow.hpp"

#include <fmt/format.h>

#include "call/call_name.hpp"
#include "call/tensors.hpp"
#include "intercept/tensor_text.hpp"

namespace diopi {

std::string overflow_line(const OverflowEvent& event) {
    const TensorFigures& f = event.figures;
    return fmt::format(
        "[overflow] {} {} {}: inf_or_nan: {}, min: {:.6g}, max: {:.6g}, mean: {:.6g}, std: {:.6g}, "
        "norm: {:.6g}",
        name_of(event.call), event.place, short_text(event.tensor), f.inf_or_nan, f.min, f.max, f.mean, f.std, f.norm);
}

Outcome OverflowCheck::around(Call& call, Context& context, const Next& next) {
    Outcome outcome = next(call, context);
    if (!outcome.ok()) return outcome;
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        const Dtype dtype = tensor->dtype;
        if (!place.is_written() || place.arg.is_opaque || !(is_floating(dtype) || is_complex(dtype)) || !outcome.ok())
            return;
        const auto host = to_host(*context.device, context.stream, *tensor);
        if (!host.ok()) {
            outcome = {diopiErrorOccurred, "overflow check: " + host.error().message};
            return;
        }
        sink_({call, place.name(), *tensor, figures_of(**host)});
    });
    return outcome;
}

}  // namespace diopi
