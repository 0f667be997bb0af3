#include "check/ulp_histogram.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "check/judge.hpp"
#include "check/scan.hpp"

namespace diopi {

namespace {

/// NaN if only one of them is finite in the format.
double distance(double actual, double exact, const Format& format) {
    constexpr double kNotFinite = std::numeric_limits<double>::quiet_NaN();
    if (std::isnan(actual) && std::isnan(exact)) return 0;
    if (std::fabs(exact) >= format.overflow) return actual == std::copysign(HUGE_VAL, exact) ? 0 : kNotFinite;
    if (!std::isfinite(actual) || !std::isfinite(exact)) return actual == exact ? 0 : kNotFinite;
    return std::fabs(actual - exact) / ulp_of(exact, format);
}

}  // namespace

void UlpHistogram::count(double ulps) {
    const auto edge = std::ranges::lower_bound(kEdges, ulps);
    ++counts[std::isnan(ulps) ? counts.size() - 1 : static_cast<size_t>(edge - kEdges.begin())];
}

void UlpHistogram::add(const UlpHistogram& other) {
    for (size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
}

int64_t UlpHistogram::total() const { return std::accumulate(counts.begin(), counts.end(), int64_t{0}); }

double UlpHistogram::mean() const {
    if (total() == 0) return 0;
    double sum = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
        sum += static_cast<double>(counts[i]) * (i < kEdges.size() ? kEdges[i] : 4096);
    }
    return sum / static_cast<double>(total());
}

UlpHistogram ulp_histogram(const Tensor& actual, const Tensor& exact, Dtype unit) {
    UlpHistogram histogram;
    Operands operands;
    operands.actual = actual.data();
    operands.component = component_of(actual.dtype);
    operands.expected = exact.data_as<double>();
    operands.parts = is_complex(actual.dtype) ? 2 : 1;
    operands.count = actual.numel() * operands.parts;
    Format format = format_of(component_of(unit));
    // The dtype that holds the values decides which of them are too large.
    format.overflow = format_of(operands.component).overflow;
    Block block;
    for (int64_t begin = 0; begin < operands.count; begin += kBlock) {
        load_block(operands, begin, false, block);
        for (int64_t i = 0; i < block.count; ++i) {
            const auto k = static_cast<size_t>(i);
            histogram.count(distance(block.actual[k], block.expected[k], format));
        }
    }
    return histogram;
}

}  // namespace diopi
