#include "intercept/overflow.hpp"

#include "call/tensors.hpp"

namespace diopi {

Outcome OverflowCheck::around(Call& call, Context& context, const Next& next) {
    Outcome outcome = next(call, context);
    if (!outcome.ok()) return outcome;
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        const Dtype dtype = tensor->dtype;
        if (!place.is_written() || !(is_floating(dtype) || is_complex(dtype)) || !outcome.ok()) return;
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
