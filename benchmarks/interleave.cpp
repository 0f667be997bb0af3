#include "interleave.hpp"

#include <algorithm>
#include <functional>
#include <random>

namespace diopi::bench {

namespace {

constexpr int kResamples = 2000;

/// Reorders `samples`.
double median_of(std::vector<double>& samples) {
    const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
    std::nth_element(samples.begin(), middle, samples.end());
    if (samples.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(samples.begin(), middle)) / 2;
}

template <class Combine>
Estimate estimate(const Rounds& rounds, Combine&& combine) {
    std::vector<double> samples(rounds.ours.size());
    std::ranges::transform(rounds.ours, rounds.baseline, samples.begin(), combine);
    return estimate_median(samples);
}

}  // namespace

Estimate estimate_median(std::span<const double> samples) {
    std::vector<double> drawn(samples.begin(), samples.end());
    Estimate made{.median = median_of(drawn)};
    std::mt19937_64 random(42);
    std::uniform_int_distribution<size_t> pick(0, samples.size() - 1);
    std::vector<double> medians(kResamples);
    for (double& median : medians) {
        for (double& sample : drawn) sample = samples[pick(random)];
        median = median_of(drawn);
    }
    std::ranges::sort(medians);
    made.low = medians[kResamples / 40];
    made.high = medians[kResamples - 1 - kResamples / 40];
    return made;
}

Estimate Rounds::speed() const {
    return estimate(*this, [](double mine, double theirs) { return theirs / mine; });
}

Estimate Rounds::difference() const { return estimate(*this, std::minus<>()); }

void report(benchmark::State& state, const std::string& name, const Estimate& estimate, double goal, double scale) {
    state.counters[name] = estimate.median * scale;
    state.counters["low"] = estimate.low * scale;
    state.counters["high"] = estimate.high * scale;
    if (goal > 0) state.counters["goal"] = goal * scale;
}

}  // namespace diopi::bench
