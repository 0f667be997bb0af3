#include "check/figures.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "check/oracle.hpp"

namespace diopi {

double TensorFigures::rms() const {
    const auto count = static_cast<double>(numel - inf_or_nan);
    return count == 0 ? 0 : norm / std::sqrt(count);
}

TensorFigures figures_of(const Tensor& host) {
    TensorFigures figures;
    figures.numel = host.numel();
    const Tensor wide = to_oracle(host, Dtype::float64);
    const std::span elements(wide.data_as<const double>(), static_cast<size_t>(figures.numel));
    double sum = 0, square = 0, low = std::numeric_limits<double>::infinity(), high = -low;
    for (const double x : elements) {
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
    for (const double x : elements) {
        if (std::isfinite(x)) spread += (x - figures.mean) * (x - figures.mean);
    }
    figures.std = std::sqrt(spread / count);
    return figures;
}

double share_of_zeros(const Tensor& host) {
    const Tensor wide = to_oracle(host, Dtype::float64);
    const std::span elements(wide.data_as<const double>(), static_cast<size_t>(host.numel()));
    return static_cast<double>(std::ranges::count(elements, 0.0)) / static_cast<double>(elements.size());
}

}  // namespace diopi
