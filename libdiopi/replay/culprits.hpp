/// Finds the units whose fallback makes a failing replay pass: delta debugging over sets.
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

/// What one replay came to.
struct Trial {
    bool passed = false;
    std::string reason;  ///< why it did not pass
};

struct CulpritOptions {
    size_t units = 0;
    /// Replays with these units falling back. An error ends the search.
    std::function<Result<Trial>(const UnitSet& fallback)> replay;
    /// A set passes when so many replays in a row do. Where the failure is flaky it takes as many as its rate asks for.
    int repeats = 1;
    /// It is known that no unit falling back fails and that all pass: two controls less.
    bool controlled = false;
    /// Ends the search with kTooMany; 0: no limit.
    int most_replays = 0;
    std::function<bool()> interrupted = {};
};

struct Culprits {
    using End = SearchEnd;
    End end = End::kFound;
    UnitSet set;
    std::string reason;  ///< of the failure without fallback; of the one with all, where that fails
    bool flaky = false;
    int repeats = 1;  ///< replays in a row that a set had to pass
    int replays = 0;
};

/// With one culprit among n units log2(n) + 7 replays at most, unless it is flaky; each further one costs as much
/// again.
[[nodiscard]] Result<Culprits> find_culprits(const CulpritOptions& options);

}  // namespace diopi
