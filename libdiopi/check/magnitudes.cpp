#include "check/magnitudes.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "core/convert.hpp"

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

/// Elements of a part: they stay in a cache between two steps.
constexpr int64_t kPart = int64_t{1} << 14;

/// The indices [begin, begin + count) of the first dim; one index is a tensor without that dim.
Tensor part_of(const Tensor& tensor, int64_t begin, int64_t count) {
    Tensor part = tensor;
    part.offset += begin * tensor.strides.front();
    part.shape.front() = count;
    if (count > 1) return part;
    part.shape.erase(part.shape.begin());
    part.strides.erase(part.strides.begin());
    return part;
}

}  // namespace

void widen_magnitudes(const Tensor& from, const Tensor& to, Sign sign) {
    const int64_t n = from.numel();
    if (sign == Sign::kKept || n <= kPart) {
        widen(from, to);
        return take_magnitudes(to, sign);
    }
    const int64_t size = from.shape.front(), step = std::max<int64_t>(kPart / (n / size), 1);
    for (int64_t i = 0; i < size; i += step) {
        const int64_t count = std::min(step, size - i);
        widen_magnitudes(part_of(from, i, count), part_of(to, i, count), sign);
    }
}

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
