/// Statistics of timings: order statistics, intervals, and whether one set of samples is slower than another.
/// docs/profile.md explains them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace diopi {

/// Order statistics of samples, in their unit.
struct Summary {
    double min = 0, q1 = 0, median = 0, q3 = 0;
    double low = 0, high = 0;  ///< 95% interval of the median, from order statistics
    int64_t samples = 0;       ///< samples that count
    int64_t discarded = 0;     ///< disturbed samples, and those over three interquartile ranges above q3
    bool operator==(const Summary&) const = default;

    /// The longer half of the interval, relative to the median.
    [[nodiscard]] double half_width() const;
};

/// The statistics of samples in any order; all 0 if there are none.
[[nodiscard]] Summary summarize(std::vector<double> samples);

/// Linear interpolation between the order statistics of `sorted` (not empty), q from 0 to 1.
[[nodiscard]] double quantile(std::span<const double> sorted, double q);
/// The median of values in any order; 0 if there are none.
[[nodiscard]] double median(std::vector<double> values);

/// Detects when more samples do not help: the interval should shrink with the square root of their number.
class PlateauWatch {
 public:
    /// Takes the next interval; true when it has hardly shrunk twice while the samples doubled.
    [[nodiscard]] bool stalled(size_t samples, double half_width);

 private:
    size_t samples_ = 0;
    double half_width_ = 0;
    int stalls_ = 0;
};

/// An estimate with its 95% interval.
struct Interval {
    double value = 0, low = 0, high = 0;
};

/// The samples of one call by the passes in which they were taken. Samples of a pass share the machine's noise; only
/// passes are independent.
using Passes = std::vector<std::vector<double>>;

/// Standard error of the trimmed mean of the logarithms of the passes' lower quartiles: the uncertainty of the call's
/// time. 0 below two passes.
[[nodiscard]] double pass_noise(const Passes& passes);

/// The hypotheses to reject so that at most `rate` of the rejections are wrong (Benjamini and Hochberg, 1995).
[[nodiscard]] std::vector<bool> benjamini_hochberg(std::span<const double> p_values, double rate);

/// Two-sided p-value of Student's t with `freedom` degrees.
[[nodiscard]] double student_p(double t, int freedom);

enum class SpeedVerdict { kSame, kFaster, kSlower, kAmbiguous };
/// "SAME", "FASTER", "SLOWER", "AMBIGUOUS".
[[nodiscard]] std::string_view name(SpeedVerdict verdict);

struct SpeedPair {
    Passes base, now;
    double uncertainty = 0;  ///< additional standard deviation of the ratio's logarithm, beside the samples' own
};

struct SpeedOptions {
    double least_effect = 0.02;     ///< a smaller change is none
    double false_discovery = 0.05;  ///< share of wrong ones among FASTER and SLOWER
    double drift = 1;               ///< slowdown of the machine itself since the base; divides the ratio
    double drift_noise = 0;         ///< standard deviation of the drift's logarithm
    /// The passes of base and now alternated: what many calls have in common is no change of the machine.
    bool alternate = false;
};

struct SpeedComparison {
    Interval ratio;    ///< now / base without the drift: above 1 is slower
    double noise = 0;  ///< standard deviation of the ratio's logarithm, all sources together
    double p = 1;      ///< p-value of "no change"
    SpeedVerdict verdict = SpeedVerdict::kAmbiguous;
    double base = 0;  ///< median of the base's samples, if the comparison of profiles has set it
};

/// Judges all calls of two runs together. A call is judged by its own noise from pass to pass, but at least by the
/// lower quartile of the noise of its run's calls, because few passes may agree by chance. Among many calls, most have
/// not changed: when their ratios vary more than their noise explains, or have a common part, this is a change of the
/// machine, and counts as noise of every call, unless the passes alternated.
[[nodiscard]] std::vector<SpeedComparison> compare_speed(std::span<const SpeedPair> pairs, const SpeedOptions& options);

}  // namespace diopi
