#include "intercept/overflow.hpp"

#include <cmath>
#include <limits>

#include "call/tensors.hpp"
#include "check/oracle.hpp"

namespace diopi {

TensorFigures figures_of(const Tensor& host) {
    TensorFigures figures;
    figures.numel = host.numel();
    double sum = 0, square = 0, low = std::numeric_limits<double>::infinity(), high = -low;
    for (int64_t i = 0; i < host.numel(); ++i) {
        const double x = real_of(host, i);
        if (!std::isfinite(x)) {
            ++figures.inf_or_nan;
            continue;
        }
        sum += x;
        square += x * x;
        low = std::fmin(low, x);
        high = std::fmax(high, x);
    }
    const auto count = static_cast<double>(figures.numel - figures.inf_or_nan);
    if (count == 0) return figures;
    figures.min = low;
    figures.max = high;
    figures.mean = sum / count;
    figures.norm = std::sqrt(square);
    double spread = 0;
    for (int64_t i = 0; i < host.numel(); ++i) {
        const double x = real_of(host, i);
        if (std::isfinite(x)) spread += (x - figures.mean) * (x - figures.mean);
    }
    figures.std = std::sqrt(spread / count);
    return figures;
}

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
