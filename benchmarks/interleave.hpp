/// Two bodies are timed in turn, A B A B, so that other work on the machine affects both.
#pragma once

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace diopi::bench {

/// A median and the bootstrap 95% interval around it.
struct Estimate {
    double median = 0, low = 0, high = 0;
};

/// Resamples `samples` (not empty) with a fixed seed, so that the same samples give the same interval.
[[nodiscard]] Estimate estimate_median(std::span<const double> samples);

/// Seconds per call of both bodies, one number of each for every round.
struct Rounds {
    std::vector<double> ours, baseline;

    /// baseline / ours, round by round: above 1 when ours is faster.
    [[nodiscard]] Estimate speed() const;
    /// ours - baseline, round by round, in seconds.
    [[nodiscard]] Estimate difference() const;
};

constexpr int kWarmUpRounds = 3;

template <class Body>
[[nodiscard]] double seconds_per_call(Body&& body, int64_t batch) {
    const auto start = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < batch; ++i) body();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    return spent.count() / static_cast<double>(batch);
}

/// One round per iteration of `state`, which must be set to manual time and receives the time of `ours`. A batch above
/// 1 is for calls that are short compared to a reading of the clock.
template <class Ours, class Baseline>
[[nodiscard]] Rounds interleave(benchmark::State& state, int64_t batch, Ours&& ours, Baseline&& baseline) {
    for (int i = 0; i < kWarmUpRounds; ++i) {
        (void)seconds_per_call(ours, batch);
        (void)seconds_per_call(baseline, batch);
    }
    Rounds rounds;
    for ([[maybe_unused]] auto iteration : state) {
        rounds.ours.push_back(seconds_per_call(ours, batch));
        rounds.baseline.push_back(seconds_per_call(baseline, batch));
        state.SetIterationTime(rounds.ours.back());
    }
    return rounds;
}

/// Sets the counters `name`, `low`, `high` and `goal`, all times `scale`; a goal of 0 means that none is set.
void report(benchmark::State& state, const std::string& name, const Estimate& estimate, double goal, double scale = 1);

}  // namespace diopi::bench
