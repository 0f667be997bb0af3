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

namespace {

/// Zeros of either sign among floating numbers of that many bits.
template <class Bits>
int64_t count_zeros(const void* data, int64_t n) {
    const auto* x = static_cast<const Bits*>(data);
    int64_t zeros = 0;
    for (int64_t i = 0; i < n; ++i) zeros += static_cast<Bits>(x[i] << 1) == 0 ? 1 : 0;
    return zeros;
}

}  // namespace

double share_of_zeros(const Tensor& host) {
    // A tensor with more elements is read in one block of so many.
    constexpr int64_t kWhole = 1 << 20, kPart = 1 << 10, kEvery = 16;
    const Tensor dense = host.is_contiguous() ? host : to_oracle(host, Dtype::float64);
    const size_t size = size_of(dense.dtype);
    const auto count = size == 8 ? count_zeros<uint64_t> : size == 4 ? count_zeros<uint32_t> : count_zeros<uint16_t>;
    const int64_t numel = dense.numel(), part = numel > kWhole ? kPart : numel;
    int64_t zeros = 0, all = 0;
    for (int64_t i = 0; i < numel; i += kEvery * part) {
        const int64_t n = std::min(part, numel - i);
        zeros += count(dense.data_as<const std::byte>() + static_cast<size_t>(i) * size, n);
        all += n;
    }
    return static_cast<double>(zeros) / static_cast<double>(all);
}

}  // namespace diopi
