#include "check/statistics.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>

namespace diopi {

namespace {

constexpr int kResamples = 500;
/// A pass enters the bootstrap by so many quantiles at most: more samples tell no more about it.
constexpr size_t kPassQuantiles = 48;
/// The interval ought to shrink to 0.71 when the samples double.
constexpr double kHardlyShrunk = 0.93;
constexpr int kStalls = 2;
/// Tukey's far out.
constexpr double kFarOut = 3;
/// With so many calls the noise floor is known well enough to count as kPooledFreedom more degrees of freedom.
constexpr size_t kManyCalls = 10;
constexpr int kPooledFreedom = 20;
/// Of so many ratios the spread tells the noise between runs.
constexpr size_t kManyRatios = 20;
/// Their tails are longer than the normal distribution's: measured between runs on a machine with other work to do, the
/// largest of 200 lay 5 to 8 deviations out. Degrees of freedom of a t that is as long.
constexpr int kLongTails = 8;

/// The passes that have samples, each as evenly spaced quantiles.
Passes condensed(const Passes& passes) {
    Passes made;
    for (std::vector<double> pass : passes) {
        if (pass.empty()) continue;
        std::ranges::sort(pass);
        if (pass.size() > kPassQuantiles) {
            std::vector<double> few(kPassQuantiles);
            for (size_t i = 0; i < few.size(); ++i) {
                few[i] = quantile(pass, (static_cast<double>(i) + 0.5) / static_cast<double>(few.size()));
            }
            pass = std::move(few);
        }
        made.push_back(std::move(pass));
    }
    return made;
}

double median_of_all(const Passes& passes) {
    std::vector<double> all;
    for (const auto& pass : passes) all.insert(all.end(), pass.begin(), pass.end());
    return median(std::move(all));
}

double resampled_median(const Passes& passes, std::mt19937_64& random) {
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    std::vector<double> drawn;
    for (size_t i = 0; i < passes.size(); ++i) {
        const auto& pass = passes[below(passes.size())];
        for (size_t k = 0; k < pass.size(); ++k) drawn.push_back(pass[below(pass.size())]);
    }
    const auto middle = drawn.begin() + static_cast<std::ptrdiff_t>(drawn.size() / 2);
    std::ranges::nth_element(drawn, middle);
    return *middle;
}

std::vector<double> log_medians(const Passes& passes) {
    std::vector<double> logs;
    for (const auto& pass : passes) {
        if (!pass.empty()) logs.push_back(std::log(std::max(median(pass), 1e-12)));
    }
    return logs;
}

int count_passes(const Passes& passes) {
    return static_cast<int>(std::ranges::count_if(passes, [](const auto& pass) { return !pass.empty(); }));
}

/// The median noise of the calls of one run.
double noise_floor(std::span<const SpeedPair> pairs, Passes SpeedPair::*side) {
    std::vector<double> noises;
    for (const SpeedPair& pair : pairs) {
        if (count_passes(pair.*side) >= 2) noises.push_back(pass_noise(pair.*side));
    }
    return median(std::move(noises));
}

/// Noise between two runs, as standard deviations of a ratio's logarithm.
struct CommonNoise {
    double typical = 0;  ///< that half of the calls keep below
    double bad = 0;      ///< that nine in ten keep below: a busy machine strikes some calls harder than most
};

/// What the ratios of many calls have in common, and their spread around it: of two runs at different times most calls
/// show nothing but the machine.
CommonNoise common_noise(const std::vector<SpeedComparison>& comparisons) {
    if (comparisons.size() < kManyRatios) return {};
    std::vector<double> logs, deviations;
    for (const SpeedComparison& comparison : comparisons) logs.push_back(std::log(comparison.ratio.value));
    const double centre = median(logs);
    for (const double x : logs) deviations.push_back(std::abs(x - centre));
    std::ranges::sort(deviations);
    // Standard deviations of the normal distribution.
    constexpr double kHalf = 0.6745, kNineTenths = 1.6449;
    const double typical = quantile(deviations, 0.5) / kHalf, bad = quantile(deviations, 0.9) / kNineTenths;
    return {std::hypot(centre, typical), std::hypot(centre, std::max(typical, bad))};
}

/// The t that a p-value belongs to.
double student_t(double p, int freedom) {
    double low = 0, high = 1e4;
    for (int i = 0; i < 100; ++i) {
        const double middle = (low + high) / 2;
        (student_p(middle, freedom) > p ? low : high) = middle;
    }
    return high;
}

/// Interval and p-value of a ratio with this noise of its own. The interval is that of a typical call; to be named as a
/// change a ratio must stand out of the bad ones, too.
void settle(SpeedComparison& made, double own, const CommonNoise& common, int freedom) {
    made.noise = std::max(own, common.typical);
    const double effect = std::log(made.ratio.value);
    const double widest = std::exp(student_t(0.05, freedom) * made.noise);
    made.ratio.low = std::min(made.ratio.low, made.ratio.value / widest);
    made.ratio.high = std::max(made.ratio.high, made.ratio.value * widest);
    const double worst = std::max(own, common.bad);
    made.p = worst > 0 ? student_p(effect / worst, freedom) : (effect == 0 ? 1 : 0);
}

SpeedVerdict judge(const SpeedComparison& comparison, bool is_change, double least_effect) {
    const double most = 1 + least_effect, least = 1 / most;
    const Interval& ratio = comparison.ratio;
    if (is_change && ratio.value >= most) return SpeedVerdict::kSlower;
    if (is_change && ratio.value <= least) return SpeedVerdict::kFaster;
    const bool within = ratio.low >= least && ratio.high <= most;
    return is_change || within ? SpeedVerdict::kSame : SpeedVerdict::kAmbiguous;
}

}  // namespace

double Summary::half_width() const { return median > 0 ? std::max(high - median, median - low) / median : 0; }

double quantile(std::span<const double> sorted, double q) {
    const double rank = q * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<size_t>(std::clamp(std::floor(rank), 0.0, static_cast<double>(sorted.size() - 1)));
    const size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (sorted[above] - sorted[below]) * (rank - static_cast<double>(below));
}

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::ranges::sort(values);
    return quantile(values, 0.5);
}

Summary summarize(std::vector<double> samples) {
    Summary summary;
    if (samples.empty()) return summary;
    std::ranges::sort(samples);
    const double q1 = quantile(samples, 0.25), q3 = quantile(samples, 0.75);
    const auto end = std::ranges::upper_bound(samples, q3 + kFarOut * (q3 - q1));
    summary.discarded = samples.end() - end;
    samples.erase(end, samples.end());

    const auto n = static_cast<double>(samples.size());
    const auto at = [&](double rank) { return samples[static_cast<size_t>(std::clamp(rank, 0.0, n - 1))]; };
    summary.min = samples.front();
    summary.q1 = quantile(samples, 0.25);
    summary.median = quantile(samples, 0.5);
    summary.q3 = quantile(samples, 0.75);
    // The ranks between which the median lies with 95%: n/2 -+ 0.98 sqrt(n), by the binomial distribution.
    summary.low = at(std::floor(n / 2 - 0.98 * std::sqrt(n)));
    summary.high = at(std::ceil(n / 2 + 0.98 * std::sqrt(n)));
    summary.samples = static_cast<int64_t>(samples.size());
    return summary;
}

bool PlateauWatch::stalled(size_t samples, double half_width) {
    if (samples_ == 0 || samples >= 2 * samples_) {
        const bool hardly = samples_ > 0 && half_width > kHardlyShrunk * half_width_;
        stalls_ = hardly ? stalls_ + 1 : 0;
        samples_ = samples;
        half_width_ = half_width;
    }
    return stalls_ >= kStalls;
}

Interval median_ratio(const Passes& base, const Passes& now, uint64_t seed) {
    const Passes old_passes = condensed(base), new_passes = condensed(now);
    if (old_passes.empty() || new_passes.empty()) return {1, 1, 1};
    std::mt19937_64 random(seed);
    std::vector<double> ratios(kResamples);
    for (double& ratio : ratios) {
        const double before = resampled_median(old_passes, random);
        ratio = resampled_median(new_passes, random) / before;
    }
    std::ranges::sort(ratios);
    return {median_of_all(new_passes) / median_of_all(old_passes), quantile(ratios, 0.025), quantile(ratios, 0.975)};
}

double pass_noise(const Passes& passes) {
    const std::vector<double> logs = log_medians(passes);
    if (logs.size() < 2) return 0;
    const auto n = static_cast<double>(logs.size());
    const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / n;
    const double squares = std::accumulate(logs.begin(), logs.end(), 0.0,
                                           [&](double sum, double x) { return sum + (x - mean) * (x - mean); });
    return std::sqrt(squares / (n - 1));
}

std::vector<bool> benjamini_hochberg(std::span<const double> p_values, double rate) {
    std::vector<size_t> order(p_values.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, std::less(), [&](size_t i) { return p_values[i]; });
    size_t fallen = 0;
    for (size_t k = 0; k < order.size(); ++k) {
        const double bound = rate * static_cast<double>(k + 1) / static_cast<double>(order.size());
        if (p_values[order[k]] <= bound) fallen = k + 1;
    }
    std::vector<bool> falls(p_values.size(), false);
    for (size_t k = 0; k < fallen; ++k) falls[order[k]] = true;
    return falls;
}

/// The closed form for whole degrees of freedom: Abramowitz and Stegun, 26.7.3 and 26.7.4.
double student_p(double t, int freedom) {
    const double angle = std::atan(std::abs(t) / std::sqrt(static_cast<double>(freedom)));
    const double cosine = std::cos(angle), square = cosine * cosine;
    const bool odd = freedom % 2 == 1;
    double term = odd ? cosine : 1, sum = 0;
    for (int k = odd ? 3 : 2; k <= freedom; k += 2) {
        sum += term;
        term *= square * (k - 1) / k;
    }
    const double inside = odd ? (angle + std::sin(angle) * sum) * 2 / std::numbers::pi : std::sin(angle) * sum;
    return std::clamp(1 - inside, 0.0, 1.0);
}

std::string_view name(SpeedVerdict verdict) {
    switch (verdict) {
        case SpeedVerdict::kSame:
            return "SAME";
        case SpeedVerdict::kFaster:
            return "FASTER";
        case SpeedVerdict::kSlower:
            return "SLOWER";
        case SpeedVerdict::kAmbiguous:
            break;
    }
    return "AMBIGUOUS";
}

std::vector<SpeedComparison> compare_speed(std::span<const SpeedPair> pairs, const SpeedOptions& options) {
    const double old_floor = noise_floor(pairs, &SpeedPair::base), new_floor = noise_floor(pairs, &SpeedPair::now);
    const bool many = pairs.size() >= kManyRatios;
    const int pooled = pairs.size() >= kManyCalls && !many ? kPooledFreedom : 0;
    std::vector<SpeedComparison> comparisons;
    for (size_t i = 0; i < pairs.size(); ++i) {
        SpeedComparison& made = comparisons.emplace_back();
        made.ratio = median_ratio(pairs[i].base, pairs[i].now, i + 1);
        for (double* part : {&made.ratio.value, &made.ratio.low, &made.ratio.high}) *part /= options.drift;
    }
    const CommonNoise common = common_noise(comparisons);
    std::vector<double> p_values;
    for (size_t i = 0; i < pairs.size(); ++i) {
        SpeedComparison& made = comparisons[i];
        const int before = count_passes(pairs[i].base), after = count_passes(pairs[i].now);
        const int freedom = std::min(before + after - 2 + pooled, many ? kLongTails : INT_MAX);
        if (before == 0 || after == 0 || freedom == 0) {
            made.ratio.low = 0;
            made.ratio.high = std::numeric_limits<double>::infinity();
        } else {
            const double old_noise = std::max(pass_noise(pairs[i].base), old_floor);
            const double new_noise = std::max(pass_noise(pairs[i].now), new_floor);
            const double own = std::sqrt(old_noise * old_noise / before + new_noise * new_noise / after +
                                         options.drift_noise * options.drift_noise);
            settle(made, own, common, freedom);
        }
        p_values.push_back(made.p);
    }
    const std::vector<bool> changed = benjamini_hochberg(p_values, options.false_discovery);
    for (size_t i = 0; i < comparisons.size(); ++i) {
        comparisons[i].verdict = judge(comparisons[i], changed[i], options.least_effect);
    }
    return comparisons;
}

}  // namespace diopi
