/// Class F: whether random output follows its distribution. Range, moments, Kolmogorov-Smirnov; chi-square for few
/// integers.
#pragma once

#include <span>
#include <string>

#include "core/tensor.hpp"
#include "schema/schema.hpp"

namespace diopi {

struct Distribution {
    Law law = Law::kUniform;
    double a = 0;
    double b = 1;
};

/// The outcome of one distribution check.
struct DistributionCheck {
    bool passed = true;
    std::string reason;  ///< one line for users when it did not pass
    int64_t n = 0;
    double mean = 0;
    double deviation = 0;  ///< standard deviation of the sample
    double statistic = 0;  ///< Kolmogorov-Smirnov distance, less the part that the dtype's rounding explains
    double p_value = 1;    ///< the smallest of the tests
    double agreement = 0;  ///< the probability that a second sample is the same, if it may well be; else 0
};

/// Below this p-value a test fails.
inline constexpr double kLeastPValue = 1e-4;
/// A p-value between this one and kLeastPValue occurs by chance in a few of thousands of samples; a smaller one does
/// not.
inline constexpr double kLeastPValueOfAll = 1e-10;
/// With fewer elements only the range is checked.
inline constexpr int64_t kLeastSample = 20;

/// `actual`: host memory, any strides, any real dtype, bool or integers. In float16 and bfloat16 each value is spread
/// over the interval that rounds to it, always in the same way, so that ties and coarse steps do not fail the test.
[[nodiscard]] DistributionCheck check_distribution(const Tensor& actual, const Distribution& expected);

/// Draws of 1 with a separate probability for each element, else 0: `probabilities` has the shape of `actual`, any
/// floating dtype and host memory. The sum, and the sums of the likely and of the unlikely elements alone, must agree
/// with their probabilities; elements with probability 0 or 1 must be so.
[[nodiscard]] DistributionCheck check_bernoulli(const Tensor& actual, const Tensor& probabilities);

/// Normal numbers with a mean and a standard deviation for each element: tensors that broadcast to the shape of
/// `actual`, floating, in host memory. Elements whose deviation is less than a few steps of the dtype are only required
/// to be near their mean.
[[nodiscard]] DistributionCheck check_normal(const Tensor& actual, const Tensor& means, const Tensor& deviations);

/// The tensors of a dropout, in host memory: `mask` has one flag for each element of `input`, or size 1 in dims that
/// share a draw. Null: not drawn, then `out` is `input`.
struct Dropout {
    const Tensor& out;
    const Tensor& input;
    const Tensor* mask;
    double p;
};
/// The flags are 1 with probability 1 - p, and out = input * flag / (1 - p) within one ulp.
[[nodiscard]] DistributionCheck check_dropout(const Dropout& dropout);

/// Rows of numbers of categories, drawn in proportion to the row of weights; without `replacement` none twice.
/// Rows of equal weights draw other numbers.
[[nodiscard]] DistributionCheck check_categorical(const Tensor& actual, const Tensor& weights, bool replacement);

/// Independent sums of numbers that are each dropped with probability p, the others divided by 1 - p, with the mean and
/// the variance of each sum, and how far rounding may move it.
struct DroppedSum {
    double value, mean, variance, rounding;
};
/// The sums deviate from their means as their variances say: in all, and along the means, which finds a missing factor.
/// Where rounding hides the law, a sum is only required to be near its mean; where the mean or the variance is not
/// finite, there is no law.
[[nodiscard]] DistributionCheck check_dropped_sums(std::span<const DroppedSum> sums, double p);

/// P(D_n >= statistic) of the Kolmogorov-Smirnov test (asymptotic series with Stephens' correction for small n).
[[nodiscard]] double kolmogorov_p_value(double statistic, int64_t n);

}  // namespace diopi
