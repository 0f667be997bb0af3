/// A run that goes on until its time is over (--level 4): round after round of hard cases of new seeds.
#pragma once

#include <functional>
#include <vector>

#include "conformance/conformance.hpp"

namespace diopi {

struct Rounds {
    /// Run in the first round.
    std::vector<Case> first;
    /// Some of these, which each round repeats in another order: they must give the same bits.
    std::vector<Case> repeated;
    /// The new cases of a round, from 1 on.
    std::function<std::vector<Case>(uint64_t round)> next;
    double seconds = 0;
};

/// The results of the last run of each case, and of an earlier one if that failed. Not less than one round starts; a
/// round that the end of the time interrupts leaves its other cases out. `on_round` is called before each one.
[[nodiscard]] Result<ConformanceRun> run_rounds(
    const Rounds& rounds, ConformanceOptions options,
    const std::function<void(uint64_t round, int64_t cases)>& on_round,
    const std::function<void(const CaseResult&, int64_t done, int64_t total)>& on_result);

}  // namespace diopi
