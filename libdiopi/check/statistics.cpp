#include "check/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <random>

namespace diopi {

namespace {

constexpr int kResamples = 500;
/// The bootstrap uses at most this many quantiles of a pass: more samples do not improve it.
constexpr size_t kPassQuantiles = 48;
/// Twice the samples should shrink the interval to 0.71.
constexpr double kNoProgress = 0.93;
constexpr int kStalls = 2;
/// Tukey's limit for "far out" values.
constexpr double kFarOut = 3;
/// With this many calls the noise floor is known well enough to count as kPooledFreedom more degrees of freedom.
constexpr size_t kManyCalls = 10;
constexpr int kPooledFreedom = 20;
/// The spread of this many ratios shows the noise between runs.
constexpr size_t kManyRatios = 20;
/// One of this many passes is cut off at either end, because the machine may do something else during a whole pass. Few
/// passes are not cut.
constexpr size_t kCutOff = 4;
constexpr size_t kFewPasses = 8;
/// Disturbances make samples longer, so a pass counts with its lower quartile.
constexpr double kPassQuantile = 0.25;

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

/// The centre of a call's passes, as a logarithm of seconds, and its uncertainty.
struct Location {
    double centre = 0;  ///< trimmed mean of the passes' lower quartiles
    double noise = 0;   ///< its standard error, from the winsorized variance
    int freedom = 0;
};

/// The location of at least one logarithm, one per pass (Yuen, 1974). One outlier in kCutOff moves it little.
/// little.
Location location_of(std::vector<double> logs) {
    std::ranges::sort(logs);
    const size_t n = logs.size(), cut = n < kFewPasses ? 0 : n / kCutOff, left = n - 2 * cut;
    const auto kept = std::span(logs).subspan(cut, left);
    Location made;
    made.centre = std::accumulate(kept.begin(), kept.end(), 0.0) / static_cast<double>(left);
    for (double& x : logs) x = std::clamp(x, kept.front(), kept.back());
    const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / static_cast<double>(n);
    double squares = 0;
    for (const double x : logs) squares += (x - mean) * (x - mean);
    if (left > 1) made.noise = std::sqrt(squares / static_cast<double>(left * (left - 1)));
    made.freedom = static_cast<int>(left) - 1;
    return made;
}

std::vector<double> log_quartiles(const Passes& passes) {
    std::vector<double> logs;
    for (const auto& pass : passes) {
        if (pass.empty()) continue;
        std::vector<double> sorted = pass;
        std::ranges::sort(sorted);
        logs.push_back(std::log(std::max(quantile(sorted, kPassQuantile), 1e-12)));
    }
    return logs;
}

/// The centre of passes drawn from these, with samples drawn from theirs.
double resampled_centre(const Passes& passes, std::mt19937_64& random) {
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    std::vector<double> logs, drawn;
    for (size_t i = 0; i < passes.size(); ++i) {
        const auto& pass = passes[below(passes.size())];
        drawn.clear();
        for (size_t k = 0; k < pass.size(); ++k) drawn.push_back(pass[below(pass.size())]);
        const auto quartile =
            drawn.begin() + static_cast<std::ptrdiff_t>(kPassQuantile * static_cast<double>(drawn.size()));
        std::ranges::nth_element(drawn, quartile);
        logs.push_back(std::log(std::max(*quartile, 1e-12)));
    }
    return location_of(std::move(logs)).centre;
}

/// The locations of both sides of a call.
struct Located {
    Location base, now;
    [[nodiscard]] int freedom() const { return base.freedom + now.freedom; }
    [[nodiscard]] double ratio() const { return std::exp(now.centre - base.centre); }
};

/// Nullopt if a side has no samples.
std::optional<Located> locate(const Passes& base, const Passes& now) {
    std::vector<double> before = log_quartiles(base), after = log_quartiles(now);
    if (before.empty() || after.empty()) return std::nullopt;
    return Located{location_of(std::move(before)), location_of(std::move(after))};
}

/// A known ratio with its interval from percentiles of resampled ratios.
Interval bootstrapped(const Located& located, const Passes& base, const Passes& now, uint64_t seed) {
    const Passes old_passes = condensed(base), new_passes = condensed(now);
    std::mt19937_64 random(seed);
    std::vector<double> ratios(kResamples);
    for (double& ratio : ratios) {
        const double before = resampled_centre(old_passes, random);
        ratio = std::exp(resampled_centre(new_passes, random) - before);
    }
    std::ranges::sort(ratios);
    return {located.ratio(), quantile(ratios, 0.025), quantile(ratios, 0.975)};
}

/// The lower quartile of the calls' noise on one side.
double noise_floor(const std::vector<std::optional<Located>>& calls, Location Located::*side) {
    std::vector<double> noises;
    for (const auto& call : calls) {
        if (call && ((*call).*side).freedom > 0) noises.push_back(((*call).*side).noise);
    }
    if (noises.empty()) return 0;
    std::ranges::sort(noises);
    return quantile(noises, 0.25);
}

/// The common part of many calls' ratios: between two runs at different times most calls have not changed, and their
/// ratios show only the machine.
struct CommonNoise {
    double centre = 0;  ///< centre of the ratios' logarithms
    double factor = 1;  ///< their spread around it, relative to their own noise
};

CommonNoise common_noise(const std::vector<SpeedComparison>& comparisons) {
    if (comparisons.size() < kManyRatios) return {};
    std::vector<double> logs, deviations;
    for (const SpeedComparison& comparison : comparisons) logs.push_back(std::log(comparison.ratio.value));
    const double centre = median(logs);
    for (size_t i = 0; i < logs.size(); ++i) {
        if (comparisons[i].noise > 0) deviations.push_back(std::abs(logs[i] - centre) / comparisons[i].noise);
    }
    if (deviations.empty()) return {centre, 1};
    std::ranges::sort(deviations);
    // Half and nine tenths of a normal distribution lie within this many standard deviations.
    constexpr double kHalf = 0.6745, kNineTenths = 1.6449;
    return {centre, std::max({1.0, quantile(deviations, 0.5) / kHalf, quantile(deviations, 0.9) / kNineTenths})};
}

/// The t of a p-value.
double student_t(double p, int freedom) {
    double low = 0, high = 1e4;
    for (int i = 0; i < 100; ++i) {
        const double middle = (low + high) / 2;
        (student_p(middle, freedom) > p ? low : high) = middle;
    }
    return high;
}

/// Computes interval and p-value of a ratio from its noise.
void complete(SpeedComparison& made, int freedom) {
    const double effect = std::log(made.ratio.value);
    const double widest = std::exp(student_t(0.05, freedom) * made.noise);
    made.ratio.low = std::min(made.ratio.low, made.ratio.value / widest);
    made.ratio.high = std::max(made.ratio.high, made.ratio.value * widest);
    made.p = made.noise > 0 ? student_p(effect / made.noise, freedom) : (effect == 0 ? 1 : 0);
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
    // The median lies between these ranks with 95%: n/2 -+ 0.98 sqrt(n), by the binomial distribution.
    summary.low = at(std::floor(n / 2 - 0.98 * std::sqrt(n)));
    summary.high = at(std::ceil(n / 2 + 0.98 * std::sqrt(n)));
    summary.samples = static_cast<int64_t>(samples.size());
    return summary;
}

bool PlateauWatch::stalled(size_t samples, double half_width) {
    if (samples_ == 0 || samples >= 2 * samples_) {
        const bool hardly = samples_ > 0 && half_width > kNoProgress * half_width_;
        stalls_ = hardly ? stalls_ + 1 : 0;
        samples_ = samples;
        half_width_ = half_width;
    }
    return stalls_ >= kStalls;
}

double pass_noise(const Passes& passes) {
    const std::vector<double> logs = log_quartiles(passes);
    return logs.empty() ? 0 : location_of(logs).noise;
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

/// The closed form for integer degrees of freedom: Abramowitz and Stegun, 26.7.3 and 26.7.4.
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
    std::vector<std::optional<Located>> located;
    for (const SpeedPair& pair : pairs) located.push_back(locate(pair.base, pair.now));
    const double old_floor = noise_floor(located, &Located::base), new_floor = noise_floor(located, &Located::now);
    std::vector<SpeedComparison> comparisons;
    for (size_t i = 0; i < pairs.size(); ++i) {
        SpeedComparison& made = comparisons.emplace_back();
        made.ratio = located[i] ? bootstrapped(*located[i], pairs[i].base, pairs[i].now, i + 1) : Interval{1, 1, 1};
        for (double* part : {&made.ratio.value, &made.ratio.low, &made.ratio.high}) *part /= options.drift;
        if (!located[i]) continue;
        const auto& [base, now] = *located[i];
        made.noise = std::hypot(std::max(base.noise, old_floor), std::max(now.noise, new_floor));
    }
    const CommonNoise common = options.alternate ? CommonNoise() : common_noise(comparisons);
    const bool pools = pairs.size() >= kManyCalls && pairs.size() < kManyRatios;
    std::vector<double> p_values;
    for (size_t i = 0; i < pairs.size(); ++i) {
        SpeedComparison& made = comparisons[i];
        made.noise = std::hypot(made.noise * common.factor, common.centre, options.drift_noise);
        made.noise = std::hypot(made.noise, pairs[i].uncertainty);
        const int freedom = located[i] ? located[i]->freedom() + (pools ? kPooledFreedom : 0) : 0;
        if (freedom > 0) {
            complete(made, freedom);
        } else {
            made.ratio.low = 0;
            made.ratio.high = std::numeric_limits<double>::infinity();
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
