#include "check/magnitudes.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace diopi {

namespace {

/// The modulus without the infinite parts, which change no rounding of the others; at most the largest number.
double magnitude_of(std::complex<double> z) {
    if (std::isinf(z.real())) z.real(0);
    if (std::isinf(z.imag())) z.imag(0);
    return std::min(std::abs(z), std::numeric_limits<double>::max());
}

/// Writes every number, so that the loop becomes one of vectors.
template <class T, class Change>
void change(const Tensor& tensor, Change&& changed) {
    auto* x = tensor.data_as<T>();
    const int64_t n = tensor.numel();
    for (int64_t i = 0; i < n; ++i) x[i] = changed(x[i]);
}

}  // namespace

void take_magnitudes(const Tensor& tensor, Sign sign) {
    if (sign == Sign::kKept) return;
    if (tensor.dtype == Dtype::complex128) {
        change<std::complex<double>>(tensor, magnitude_of);
    } else if (tensor.dtype == Dtype::int64) {
        change<int64_t>(tensor, [](int64_t x) { return std::abs(std::max(x, -INT64_MAX)); });
    } else if (tensor.dtype != Dtype::float64) {
        return;
    } else if (sign == Sign::kDroppedAndFinite) {
        change<double>(tensor, [](double x) { return std::isinf(x) ? 0.0 : std::fabs(x); });
    } else if (sign == Sign::kDroppedAndFlushed) {
        constexpr double kLeast = std::numeric_limits<float>::min();
        change<double>(tensor, [](double x) { return std::fabs(x) < kLeast ? 0.0 : std::fabs(x); });
    } else {
        change<double>(tensor, [](double x) { return std::fabs(x); });
    }
}

}  // namespace diopi
