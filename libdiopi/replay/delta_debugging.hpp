/// Delta debugging: finds the units whose fallback makes a failing replay pass.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/status.hpp"
#include "journal/bisect_record.hpp"

namespace diopi {

/// Units that fall back, ascending.
using UnitSet = std::vector<size_t>;

/// The result of one replay.
struct Trial {
    bool passed = false;
    std::string reason;  ///< the reason why it did not pass
};

struct DeltaDebuggingOptions {
    size_t units = 0;
    /// Replays with these units falling back. An error ends the search.
    std::function<Result<Trial>(const UnitSet& fallback)> replay;
    /// A set passes when this many replays in a row pass. A flaky failure needs as many as its rate requires.
    int repeats = 1;
    /// The replay without fallback is known to fail, and the one with all units to pass: no controls are needed.
    bool controlled = false;
    /// Ends the search with kTooMany; 0: no limit.
    int most_replays = 0;
    std::function<bool()> interrupted = {};
};

struct DeltaDebugging {
    using End = SearchEnd;
    End end = End::kFound;
    UnitSet set;
    std::string reason;  ///< failure without fallback, or with all units
    bool flaky = false;
    int repeats = 1;  ///< replays in a row that a set had to pass
    int replays = 0;
};

/// With one faulty unit among n, it takes at most log2(n) + 7 replays unless the failure is flaky; each further unit
/// costs as much again.
[[nodiscard]] Result<DeltaDebugging> run_delta_debugging(const DeltaDebuggingOptions& options);

}  // namespace diopi
