#include "check/distribution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <span>
#include <vector>

#include "check/judge.hpp"
#include "check/oracle.hpp"
#include "core/half.hpp"
#include "core/philox.hpp"

namespace diopi {

namespace {

/// The Kolmogorov-Smirnov test sorts at most this many elements, taken at regular distance.
constexpr int64_t kSampleSize = int64_t{1} << 20;
/// Variances of small samples are too skewed for a normal bound.
constexpr int64_t kLeastVarianceSample = 100;
/// Moments may be this many standard errors off: p = 6e-7 for a normal law.
constexpr double kStandardErrors = 5;
constexpr double kMostCategories = 1024;
constexpr uint64_t kDitherKey = 0x646974686572;

std::string print(double x) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.6g", x);
    return text.data();
}

void fail(DistributionCheck& check, std::string reason) {
    if (!check.passed) return;
    check.passed = false;
    check.reason = std::move(reason);
}

/// The sample in float64, with the rounding of its dtype.
struct Sample {
    Tensor wide;
    const double* values = nullptr;
    int64_t n = 0;
    Dtype dtype = Dtype::float32;
    Format format;

    explicit Sample(const Tensor& actual)
        : wide(to_oracle(actual, Dtype::float64)),
          values(wide.data_as<double>()),
          n(actual.numel()),
          dtype(actual.dtype),
          format(format_of(actual.dtype)) {}

    [[nodiscard]] double rounded(double x) const {
        if (!is_floating(dtype)) return x;
        return round_to_precision(x, format.significand, format.min_exponent, format.largest);
    }
    /// Distance between neighbours of a floating dtype at |x|, else 0.
    [[nodiscard]] double step(double x) const { return is_floating(dtype) ? ulp_of(x, format) : 0; }
};

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

double cdf(const Distribution& law, double x) {
    if (law.law == Law::kNormal) return normal_cdf((x - law.a) / law.b);
    return std::clamp((x - law.a) / (law.b - law.a), 0.0, 1.0);
}

/// A continuous value that `x` may have been before rounding; an integer stands for the interval [x, x + 1).
double dithered(const Sample& sample, const Distribution& law, double x, int64_t index) {
    const bool integers = law.law == Law::kIntegerUniform;
    const double width = std::max(sample.step(x), integers ? 1.0 : 0.0);
    if (width == 0) return x;
    const double u = unit_double(philox(kDitherKey, static_cast<uint64_t>(index), 0)[0], 0);
    return x + (u - 0.5) * width + (integers ? 0.5 : 0.0);
}

/// The largest change of the distribution function over one step of the dtype.
double rounding_allowance(const Sample& sample, const Distribution& law) {
    if (law.law == Law::kNormal) return 0.4 / law.b * sample.step(std::fabs(law.a) + law.b);
    return sample.step(std::max(std::fabs(law.a), std::fabs(law.b))) / (law.b - law.a);
}

void check_kolmogorov(const Sample& sample, const Distribution& law, DistributionCheck& check) {
    const int64_t every = (sample.n + kSampleSize - 1) / kSampleSize;
    std::vector<double> points;
    points.reserve(static_cast<size_t>(sample.n / every + 1));
    for (int64_t i = 0; i < sample.n; i += every) {
        points.push_back(cdf(law, dithered(sample, law, sample.values[i], i)));
    }
    std::ranges::sort(points);
    const auto n = static_cast<double>(points.size());
    double distance = 0;
    for (size_t i = 0; i < points.size(); ++i) {
        const auto below = static_cast<double>(i) / n;
        distance = std::max({distance, points[i] - below, below + 1 / n - points[i]});
    }
    check.statistic = std::max(0.0, distance - rounding_allowance(sample, law));
    const double p = kolmogorov_p_value(check.statistic, static_cast<int64_t>(points.size()));
    check.p_value = std::min(check.p_value, p);
    if (p < kLeastPValue) {
        fail(check, "Kolmogorov-Smirnov distance " + print(check.statistic) + " of " + std::to_string(points.size()) +
                        " values (p " + print(p) + ")");
    }
}

/// A run with this many random bits does not repeat by chance.
constexpr double kRunBits = 96;
/// More are not taken of a number: generators differ in how many they draw.
constexpr double kMostBits = 12;
/// The approximate number of runs that are compared.
constexpr int64_t kRuns = int64_t{1} << 16;

/// Whether a sequence of numbers repeats, because blocks draw from the same counters; two numbers are equal by chance
/// in at most one of 2^bits cases. The hash of a run is a polynomial in an odd number, so that the next hash follows
/// from it. The choice of the compared runs depends on their own values, so that it contains both or none of a pair.
void check_repetition(const Sample& sample, double bits, DistributionCheck& check) {
    const double wanted = std::ceil(kRunBits / std::min(bits, kMostBits));
    if (!(bits > 0) || wanted * 2 > static_cast<double>(sample.n)) return;
    constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;
    // The bits of a float64 with few digits are at its upper end, where a product would lose them.
    const auto mixed = [](uint64_t x) { return (x ^ x >> 32) * kFactor; };
    const auto number = [&](int64_t i) { return mixed(std::bit_cast<uint64_t>(sample.values[i])); };
    const auto length = static_cast<int64_t>(wanted);
    uint64_t oldest = 1, hash = 0;
    for (int64_t i = 1; i < length; ++i) oldest *= kFactor;
    const auto one_in = static_cast<uint64_t>(sample.n / kRuns + 1);
    std::vector<uint64_t> runs;
    for (int64_t i = 0; i < sample.n; ++i) {
        if (i >= length) hash -= number(i - length) * oldest;
        hash = hash * kFactor + number(i);
        const uint64_t run = mixed(hash);
        if (i >= length - 1 && (run >> 20) % one_in == 0) runs.push_back(run);
    }
    std::ranges::sort(runs);
    if (std::ranges::adjacent_find(runs) == runs.end()) return;
    fail(check, std::to_string(length) + " numbers in a row come a second time: parts of the sample repeat others");
}

/// The random bits of a number, at least: those of its most likely value.
double bits_of(const Sample& sample, const Distribution& law) {
    const bool normal = law.law == Law::kNormal;
    const double most = normal ? std::fabs(law.a) + 3 * law.b : std::max(std::fabs(law.a), std::fabs(law.b));
    const double step = std::max(sample.step(most), law.law == Law::kIntegerUniform ? 1.0 : 0.0);
    return std::log2((normal ? law.b : law.b - law.a) / step);
}

void measure(const Sample& sample, DistributionCheck& check) {
    if (sample.n == 0) return;
    double sum = 0;
    for (int64_t i = 0; i < sample.n; ++i) sum += sample.values[i];
    check.mean = sum / static_cast<double>(sample.n);
    double squares = 0;
    for (int64_t i = 0; i < sample.n; ++i) squares += (sample.values[i] - check.mean) * (sample.values[i] - check.mean);
    check.deviation = std::sqrt(squares / static_cast<double>(std::max<int64_t>(sample.n - 1, 1)));
}

struct Moments {
    double mean, variance, kurtosis;
};

Moments moments_of(const Distribution& law) {
    const double width = law.b - law.a;
    if (law.law == Law::kNormal) return {law.a, law.b * law.b, 3};
    if (law.law == Law::kUniform) return {(law.a + law.b) / 2, width * width / 12, 1.8};
    return {(law.a + law.b - 1) / 2, (width * width - 1) / 12, 1.8};
}

void check_moments(const Sample& sample, const Distribution& law, DistributionCheck& check) {
    const auto n = static_cast<double>(sample.n);
    const Moments expected = moments_of(law);
    const double sigma = std::sqrt(expected.variance);
    const double step = sample.step(std::fabs(expected.mean) + 3 * sigma);
    if (std::fabs(check.mean - expected.mean) > kStandardErrors * sigma / std::sqrt(n) + step) {
        fail(check, "mean " + print(check.mean) + " where " + print(expected.mean) + " is expected (" +
                        std::to_string(sample.n) + " values)");
    }
    if (sample.n < kLeastVarianceSample) return;
    const double spread = kStandardErrors * std::sqrt((expected.kurtosis - 1) / n) * expected.variance;
    const double variance = check.deviation * check.deviation;
    if (std::fabs(variance - expected.variance) > spread + 2 * sigma * step + step * step) {
        fail(check, "standard deviation " + print(check.deviation) + " where " + print(sigma) + " is expected (" +
                        std::to_string(sample.n) + " values)");
    }
}

/// P(chi-square with that freedom >= chi_square). Wilson and Hilferty: its cube root is nearly normal.
double chi_square_p_value(double chi_square, double freedom) {
    const double z = (std::cbrt(chi_square / freedom) - (1 - 2 / (9 * freedom))) / std::sqrt(2 / (9 * freedom));
    return 1 - normal_cdf(z);
}

/// Each integer of a short range must occur as often as the others.
void check_categories(const Sample& sample, const Distribution& law, DistributionCheck& check) {
    const double width = law.b - law.a;
    const double each = static_cast<double>(sample.n) / width;
    const bool exact = sample.step(std::max(std::fabs(law.a), std::fabs(law.b))) <= 1;
    if (width < 2 || width > kMostCategories || each < 5 || !exact) return;
    std::vector<double> counts(static_cast<size_t>(width));
    for (int64_t i = 0; i < sample.n; ++i) counts[static_cast<size_t>(sample.values[i] - law.a)] += 1;
    double chi_square = 0;
    for (const double count : counts) chi_square += (count - each) * (count - each) / each;
    const double p = chi_square_p_value(chi_square, width - 1);
    check.p_value = std::min(check.p_value, p);
    if (p >= kLeastPValue) return;
    const auto rarest = std::ranges::min_element(counts) - counts.begin();
    fail(check, "uneven counts: " + print(law.a + static_cast<double>(rarest)) + " came " +
                    print(counts[static_cast<size_t>(rarest)]) + " times where " + print(each) + " are expected (p " +
                    print(p) + ")");
}

/// Chernoff's bound, which holds for every n: P <= 2 exp(-n KL(share || p)).
void check_share(int64_t hits, int64_t n, double p, const std::string& what, DistributionCheck& check) {
    const double share = static_cast<double>(hits) / static_cast<double>(n);
    const auto term = [](double x, double y) { return x == 0 ? 0 : x * std::log(x / y); };
    const double divergence = term(share, p) + term(1 - share, 1 - p);
    const double bound = std::min(1.0, 2 * std::exp(-static_cast<double>(n) * divergence));
    check.p_value = std::min(check.p_value, bound);
    if (bound < kLeastPValue) {
        fail(check, "share of " + what + " " + print(share) + " where " + print(p) + " is expected (" +
                        std::to_string(n) + " values)");
    }
}

void check_range(const Sample& sample, double low, double high, bool whole, DistributionCheck& check) {
    for (int64_t i = 0; i < sample.n && check.passed; ++i) {
        const double x = sample.values[i];
        const std::string at = " at element ";
        if (!std::isfinite(x)) {
            fail(check, (std::isnan(x) ? "NaN" : "infinity") + at + std::to_string(i));
        } else if (x < low || x > high) {
            fail(check, print(x) + at + std::to_string(i) + " outside [" + print(low) + ", " + print(high) + "]");
        } else if (whole && x != std::trunc(x)) {
            fail(check, print(x) + at + std::to_string(i) + " is not an integer");
        }
    }
}

/// Refuses a value that is so far from 0, in standard deviations, by chance in less than kLeastPValue of samples.
void check_deviations(double deviations, const std::string& what, DistributionCheck& check) {
    const double p = std::erfc(std::fabs(deviations) / std::sqrt(2.0));
    check.p_value = std::min(check.p_value, p);
    if (p < kLeastPValue) fail(check, what + " correlate (p " + print(p) + ")");
}

/// The correlation of the numbers 0 to n - 1 with what stands in the place of each, in its standard deviations.
template <class At>
double correlation(int64_t n, const At& at) {
    const double mean = static_cast<double>(n - 1) / 2;
    double products = 0, squares = 0;
    for (int64_t i = 0; i < n; ++i) {
        const auto [a, b] = at(i);
        products += (a - mean) * (b - mean);
        squares += (static_cast<double>(i) - mean) * (static_cast<double>(i) - mean);
    }
    return products / squares * std::sqrt(static_cast<double>(n - 1));
}

/// Whether the numbers are in any order: neither near their own places, nor near their neighbours, nor in one cycle. A
/// shuffle that never exchanges a number with itself gives one cycle, which 1 of n permutations is.
void check_order(const Sample& sample, DistributionCheck& check) {
    const int64_t n = sample.n;
    const double* x = sample.values;
    check_deviations(correlation(n, [=](int64_t i) { return std::pair(static_cast<double>(i), x[i]); }),
                     "numbers and places", check);
    check_deviations(correlation(n, [=](int64_t i) { return std::pair(x[i], x[(i + 1) % n]); }), "neighbours", check);
    int64_t length = 1;
    for (auto i = static_cast<int64_t>(x[0]); i != 0; i = static_cast<int64_t>(x[i])) ++length;
    const double p = 1 / static_cast<double>(n);
    if (length < n) return;
    check.p_value = std::min(check.p_value, p);
    if (p < kLeastPValue) fail(check, "the permutation is one cycle (p " + print(p) + ")");
}

void check_permutation(const Sample& sample, DistributionCheck& check) {
    check_range(sample, 0, sample.rounded(static_cast<double>(sample.n - 1)), true, check);
    // Beyond this a half dtype cannot tell the integers apart.
    if (!check.passed || sample.step(static_cast<double>(sample.n)) > 1) return;
    std::vector<bool> seen(static_cast<size_t>(sample.n));
    bool sorted = true;
    for (int64_t i = 0; i < sample.n; ++i) {
        const auto x = static_cast<size_t>(sample.values[i]);
        if (seen[x]) return fail(check, std::to_string(x) + " came twice, again at element " + std::to_string(i));
        seen[x] = true;
        sorted = sorted && static_cast<int64_t>(x) == i;
    }
    if (sample.n < kLeastSample) return;
    if (sorted) return fail(check, "the numbers are in order");
    check_order(sample, check);
}

/// So few numbers of float64 are equal that they have at least 32 random bits, not the 24 of float32.
void check_resolution(const Sample& sample, DistributionCheck& check) {
    constexpr double kFew = 8;
    std::vector<double> sorted(sample.values, sample.values + sample.n);
    std::ranges::sort(sorted);
    int64_t equal = 0;
    for (size_t i = 1; i < sorted.size(); ++i) equal += sorted[i] == sorted[i - 1] ? 1 : 0;
    const double n = static_cast<double>(sample.n), expected = n * n * 0x1p-33;
    if (static_cast<double>(equal) <= kFew + 4 * expected) return;
    fail(check, std::to_string(equal) + " of " + std::to_string(sample.n) +
                    " numbers came before: they have fewer than 32 random bits");
}

void check_bernoulli(const Sample& sample, double p, DistributionCheck& check) {
    check_range(sample, 0, 1, true, check);
    if (!check.passed || sample.n < kLeastSample) return;
    const auto ones = std::count(sample.values, sample.values + sample.n, 1.0);
    check_share(ones, sample.n, p, "ones", check);
    if (check.passed) check_repetition(sample, -std::log2(p * p + (1 - p) * (1 - p)), check);
}

/// The number of ones, compared with the expected number.
struct Excess {
    int64_t n = 0;
    double ones = 0, expected = 0, variance = 0;

    void add(double x, double p) {
        ++n;
        ones += x;
        expected += p;
        variance += p * (1 - p);
    }

    /// Bernstein's bound, which holds for every n and any probabilities: P <= 2 exp(-d^2 / 2 / (variance + d / 3)).
    void judge(const std::string& what, DistributionCheck& check) const {
        if (n < kLeastSample || !check.passed) return;
        const double distance = std::fabs(ones - expected);
        const double bound =
            distance == 0 ? 1 : std::min(1.0, 2 * std::exp(-distance * distance / 2 / (variance + distance / 3)));
        check.p_value = std::min(check.p_value, bound);
        if (bound >= kLeastPValue) return;
        fail(check, print(ones) + " " + what + " where " + print(expected) + " are expected (" + std::to_string(n) +
                        " values)");
    }
};

/// Laws of a single value: standard deviation 0, or an empty interval.
void check_constant(const Sample& sample, double value, DistributionCheck& check) {
    check_range(sample, sample.rounded(value), sample.rounded(value), false, check);
}

void check_law(const Sample& sample, const Distribution& law, DistributionCheck& check) {
    const bool normal = law.law == Law::kNormal;
    const bool integers = law.law == Law::kIntegerUniform;
    if (normal ? law.b < 0 : integers ? law.b <= law.a : law.b < law.a) {
        return fail(check, "no such distribution: a " + print(law.a) + ", b " + print(law.b));
    }
    if (normal && law.b == 0) return check_constant(sample, law.a, check);
    if (!normal && law.b == law.a) return check_constant(sample, law.a, check);
    const double reach = HUGE_VAL;
    const double low = normal ? -reach : sample.rounded(law.a);
    const double high = normal ? reach : sample.rounded(integers ? law.b - 1 : law.b);
    check_range(sample, low, high, integers, check);
    if (!check.passed || sample.n < kLeastSample) return;
    check_moments(sample, law, check);
    if (integers) check_categories(sample, law, check);
    check_repetition(sample, bits_of(sample, law), check);
    if (law.law == Law::kUniform && sample.dtype == Dtype::float64) check_resolution(sample, check);
    check_kolmogorov(sample, law, check);
}

}  // namespace

double kolmogorov_p_value(double statistic, int64_t n) {
    const double root = std::sqrt(static_cast<double>(n));
    const double lambda = (root + 0.12 + 0.11 / root) * statistic;
    if (lambda < 0.2) return 1;
    double sum = 0;
    for (int k = 1; k <= 100; ++k) {
        const double term = std::exp(-2.0 * k * k * lambda * lambda);
        sum += k % 2 == 1 ? term : -term;
        if (term < 1e-18) break;
    }
    return std::clamp(2 * sum, 0.0, 1.0);
}

DistributionCheck check_distribution(const Tensor& actual, const Distribution& expected) {
    DistributionCheck check;
    check.n = actual.numel();
    if (check.n == 0) return check;
    const Sample sample(actual);
    measure(sample, check);
    switch (expected.law) {
        case Law::kPermutation:
            check_permutation(sample, check);
            break;
        case Law::kBernoulli:
            check_bernoulli(sample, expected.a, check);
            break;
        case Law::kNormal:
        case Law::kUniform:
        case Law::kIntegerUniform:
            check_law(sample, expected, check);
            break;
        case Law::kDropout:
        case Law::kCategorical:
        case Law::kAttention:
        case Law::kToken:
            fail(check, "the law needs the call's tensors");
            break;
    }
    return check;
}

DistributionCheck check_bernoulli(const Tensor& actual, const Tensor& probabilities) {
    DistributionCheck check;
    check.n = actual.numel();
    if (actual.shape != probabilities.shape) {
        fail(check, "shape " + to_string(actual.shape) + " where " + to_string(probabilities.shape) + " is wanted");
    }
    if (!check.passed || check.n == 0) return check;
    const Sample drawn(actual);
    const Sample share(probabilities);
    measure(drawn, check);
    check_range(drawn, 0, 1, true, check);
    Excess unlikely, likely;
    for (int64_t i = 0; i < check.n && check.passed; ++i) {
        const double p = share.values[i];
        if ((p <= 0 && drawn.values[i] != 0) || (p >= 1 && drawn.values[i] != 1)) {
            fail(check,
                 print(drawn.values[i]) + " at element " + std::to_string(i) + " where 1 has probability " + print(p));
        }
        (p < 0.5 ? unlikely : likely).add(drawn.values[i], p);
    }
    unlikely.judge("ones among elements of probability below 0.5", check);
    likely.judge("ones among elements of probability 0.5 and above", check);
    return check;
}

namespace {

/// `tensor` broadcast to `shape`, in float64.
std::vector<double> spread(const Tensor& tensor, const Shape& shape) {
    const Tensor wide = to_oracle(tensor, Dtype::float64);
    std::vector<double> values(static_cast<size_t>(numel(shape)));
    const size_t lacking = shape.size() - wide.shape.size();
    const Shape own = contiguous_strides(wide.shape);
    for (size_t i = 0; i < values.size(); ++i) {
        const Shape at = unravel(static_cast<int64_t>(i), shape);
        int64_t from = 0;
        for (size_t d = 0; d < own.size(); ++d) from += wide.shape[d] == 1 ? 0 : at[lacking + d] * own[d];
        values[i] = wide.data_as<double>()[from];
    }
    return values;
}

/// Below so many steps of the dtype in a standard deviation, rounding hides the law.
constexpr double kLeastSteps = 8;
/// A normal number is further from the mean in 10^-23 of all cases.
constexpr double kMostDeviations = 10;

}  // namespace

DistributionCheck check_normal(const Tensor& actual, const Tensor& means, const Tensor& deviations) {
    DistributionCheck check;
    check.n = actual.numel();
    if (check.n == 0) return check;
    const Sample sample(actual);
    measure(sample, check);
    const std::vector<double> mean = spread(means, actual.shape), deviation = spread(deviations, actual.shape);
    std::vector<double> standard;
    for (int64_t i = 0; i < check.n && check.passed; ++i) {
        const auto k = static_cast<size_t>(i);
        const bool is_mean = sample.values[i] == mean[k] || (std::isnan(mean[k]) && std::isnan(sample.values[i]));
        if (!std::isfinite(mean[k]) && is_mean) continue;
        const double step = ulp_of(std::fabs(mean[k]) + kMostDeviations * deviation[k], sample.format);
        const double distance = sample.values[i] - mean[k];
        if (!(std::fabs(distance) <= kMostDeviations * deviation[k] + step)) {
            fail(check, print(sample.values[i]) + " at element " + std::to_string(i) + " where the mean is " +
                            print(mean[k]) + " and the standard deviation " + print(deviation[k]));
        }
        if (deviation[k] < kLeastSteps * step) continue;
        const double u = unit_double(philox(kDitherKey, static_cast<uint64_t>(i), 0)[0], 0);
        standard.push_back((distance + (u - 0.5) * sample.step(sample.values[i])) / deviation[k]);
    }
    // Where rounding hides the law, the numbers may be the same with any seed.
    check.n = std::ssize(standard);
    if (!check.passed || standard.empty()) return check;
    Tensor wide = make_host_tensor({std::ssize(standard)}, Dtype::float64);
    std::ranges::copy(standard, wide.data_as<double>());
    DistributionCheck whole = check_distribution(wide, {Law::kNormal, 0, 1});
    if (!whole.passed) fail(check, "with the mean and the standard deviation of each element removed: " + whole.reason);
    check.p_value = whole.p_value;
    return check;
}

DistributionCheck check_dropout(const Dropout& dropout) {
    DistributionCheck check;
    check.n = dropout.out.numel();
    const Sample out(dropout.out), input(dropout.input);
    std::vector<double> flags(static_cast<size_t>(check.n), 1.0);
    double keep = 1;
    if (dropout.mask != nullptr) {
        keep = 1 - dropout.p;
        check = check_distribution(*dropout.mask, {Law::kBernoulli, keep, 0});
        if (!check.passed) check.reason = "mask: " + check.reason;
        if (check.passed) flags = spread(*dropout.mask, dropout.out.shape);
    }
    for (int64_t i = 0; i < dropout.out.numel() && check.passed; ++i) {
        const double flag = flags[static_cast<size_t>(i)], x = input.values[i];
        const double wanted = flag == 0 && std::isfinite(x) ? 0 : x * flag / (keep == 0 ? 1 : keep);
        const double error = std::fabs(out.values[i] - wanted), ulp = ulp_of(wanted, out.format);
        const bool is_same = out.values[i] == wanted || (std::isnan(wanted) && std::isnan(out.values[i]));
        const bool overflows = std::fabs(wanted) >= out.format.overflow && std::isinf(out.values[i]);
        // A half type may round the factor 1 / (1 - p) before the product, or the product with the flag.
        const double allowed = (is_half(dropout.out.dtype) ? 1.5 : 2) * ulp;
        if (is_same || overflows || error <= allowed || (flag == 0 && std::isnan(wanted))) continue;
        fail(check, "out is " + print(out.values[i]) + " at element " + std::to_string(i) + ", where input * mask / " +
                        print(keep) + " is " + print(wanted));
    }
    return check;
}

namespace {

/// The counts of the categories of one row with replacement. Rare categories count together.
struct CategoryCounts {
    double chi_square = 0, freedom = -1, rest = 0, rest_expected = 0;

    void add(double count, double expected) {
        if (expected < 5) {
            rest += count;
            rest_expected += expected;
            return;
        }
        chi_square += (count - expected) * (count - expected) / expected;
        freedom += 1;
    }
    void finish() {
        if (rest_expected < 5) return;
        chi_square += (rest - rest_expected) * (rest - rest_expected) / rest_expected;
        freedom += 1;
    }
};

}  // namespace

DistributionCheck check_dropped_sums(std::span<const DroppedSum> sums, double p) {
    DistributionCheck check;
    double squares = 0, total = 0, along = 0, length = 0;
    for (const DroppedSum& sum : sums) {
        if (!std::isfinite(sum.mean) || !std::isfinite(sum.variance)) continue;
        const double distance = sum.value - sum.mean, reach = std::sqrt(sum.variance);
        // By Chebyshev's inequality even the most skewed law stays within.
        const double most = reach * std::sqrt(static_cast<double>(sums.size()) / kLeastPValue) + sum.rounding;
        if (!(std::fabs(distance) <= most)) {
            fail(check, print(sum.value) + " where the mean is " + print(sum.mean) + " and the standard deviation " +
                            print(reach));
        }
        if (reach < kLeastSteps * sum.rounding) continue;
        ++check.n;
        squares += distance * distance / sum.variance;
        total += distance / reach;
        along += distance * sum.mean / sum.variance;
        length += sum.mean * sum.mean / sum.variance;
    }
    if (!check.passed || check.n < kLeastSample) return check;
    const auto n = static_cast<double>(check.n);
    check.mean = total / n;
    check.deviation = std::sqrt(squares / n);
    // The fourth moment of a sum is at most that of its most skewed term, or a normal law's.
    const double fourth = std::max(3.0, (1 - 3 * p * (1 - p)) / (p * (1 - p)));
    const double errors[] = {(squares - n) / std::sqrt(n * (fourth - 1)), total / std::sqrt(n),
                             length > 0 ? along / std::sqrt(length) : 0};
    constexpr const char* kNames[] = {"squared deviations", "deviations", "deviations along the means"};
    for (size_t i = 0; i < std::size(errors); ++i) {
        check.p_value = std::min(check.p_value, std::erfc(std::fabs(errors[i]) / std::sqrt(2.0)));
        if (std::fabs(errors[i]) <= kStandardErrors) continue;
        fail(check, std::string("the sum of the ") + kNames[i] + " of " + std::to_string(check.n) + " sums is " +
                        print(errors[i]) + " standard errors off");
    }
    return check;
}

namespace {

/// The logarithm of the probability that a row with these weights gives these numbers of categories in this order.
double log_probability(std::span<const double> drawn, std::span<const double> weights, bool replacement) {
    double left = std::accumulate(weights.begin(), weights.end(), 0.0), log_p = 0;
    for (const double category : drawn) {
        const double weight = weights[static_cast<size_t>(category)];
        log_p += std::log(weight / left);
        if (!replacement) left = std::max(left - weight, weight);
    }
    return log_p;
}

/// Rows of equal weights do not draw the same numbers.
void check_rows_differ(const Sample& drawn, const Sample& share, int64_t samples, int64_t categories, bool replacement,
                       DistributionCheck& check) {
    const auto first = std::span(drawn.values, static_cast<size_t>(samples));
    const auto weights = std::span(share.values, static_cast<size_t>(categories));
    for (int64_t r = 1; r < check.n / samples && check.passed; ++r) {
        const auto other = std::span(drawn.values + r * samples, static_cast<size_t>(samples));
        const auto others = std::span(share.values + r * categories, static_cast<size_t>(categories));
        if (!std::ranges::equal(first, other) || !std::ranges::equal(weights, others)) continue;
        const double p = std::exp(log_probability(first, weights, replacement));
        if (p >= kLeastPValue) return;
        check.p_value = p;
        fail(check, fmt::format("rows 0 and {} have the same weights, and drew the same {} numbers", r, samples));
    }
}

}  // namespace

DistributionCheck check_categorical(const Tensor& actual, const Tensor& weights, bool replacement) {
    DistributionCheck check;
    check.n = actual.numel();
    if (check.n == 0) return check;
    const Sample drawn(actual), share(weights);
    measure(drawn, check);
    const int64_t categories = weights.shape.back(), samples = actual.shape.back(), rows = check.n / samples;
    check_range(drawn, 0, static_cast<double>(categories - 1), true, check);
    double chi_square = 0, freedom = 0;
    std::vector<double> first;  // the places of the first draws in the distributions of their rows
    for (int64_t r = 0; r < rows && check.passed; ++r) {
        const double* weight = share.values + r * categories;
        std::vector<double> counts(static_cast<size_t>(categories));
        double sum = 0;
        for (int64_t c = 0; c < categories; ++c) sum += weight[c];
        for (int64_t i = 0; i < samples && check.passed; ++i) {
            const auto c = static_cast<size_t>(drawn.values[r * samples + i]);
            if (!(weight[c] > 0)) fail(check, "category " + std::to_string(c) + " has the weight 0");
            if (++counts[c] == 2 && !replacement) {
                fail(check, "category " + std::to_string(c) + " came twice in row " + std::to_string(r));
            }
        }
        const auto drawn_first = static_cast<size_t>(drawn.values[r * samples]);
        double below = 0;
        for (size_t c = 0; c < drawn_first; ++c) below += weight[c];
        const double u = unit_double(philox(kDitherKey, static_cast<uint64_t>(r), 0)[0], 0);
        first.push_back((below + u * weight[drawn_first]) / sum);
        if (!replacement) continue;
        CategoryCounts row;
        for (int64_t c = 0; c < categories; ++c) {
            row.add(counts[static_cast<size_t>(c)], static_cast<double>(samples) * weight[c] / sum);
        }
        row.finish();
        if (row.freedom < 1) continue;
        chi_square += row.chi_square;
        freedom += row.freedom;
    }
    if (check.passed) check_rows_differ(drawn, share, samples, categories, replacement, check);
    if (!check.passed) return check;
    Tensor places = make_host_tensor({std::ssize(first)}, Dtype::float64);
    std::ranges::copy(first, places.data_as<double>());
    const DistributionCheck uniform = check_distribution(places, {Law::kUniform, 0, 1});
    if (!uniform.passed) fail(check, "the first draws of the rows do not follow the weights: " + uniform.reason);
    if (!check.passed || freedom < 1) return check;
    check.p_value = chi_square_p_value(chi_square, freedom);
    if (check.p_value < kLeastPValue) {
        fail(check, "the counts of the categories do not follow the weights (p " + print(check.p_value) + ")");
    }
    return check;
}

}  // namespace diopi
