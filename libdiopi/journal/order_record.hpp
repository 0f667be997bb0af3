/// What `test --find-order` found out: cases whose verdict depends on what ran before them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "check/verdict.hpp"

namespace diopi {

/// A case that does not always get the same verdict.
struct OrderFinding {
    std::string case_id;
    Verdict in_run = Verdict::kPassed, shuffled = Verdict::kPassed, alone = Verdict::kPassed;
    /// Alone, it has two different verdicts, too: no order explains this.
    bool unsteady = false;
    /// The fewest cases found behind which it gets `verdict`, in their order; empty: none found.
    std::vector<std::string> after;
    Verdict verdict = Verdict::kPassed;
    bool fewest = true;  ///< without any one of `after` it gets another verdict; false: time was up
};

struct OrderRecord {
    std::vector<OrderFinding> found;  ///< in the order of the cases
    size_t cases = 0;
    int64_t failures = 0;  ///< cases that fail alone
    double seconds = 0;
    std::string options;  ///< appended to each repeat command
};

}  // namespace diopi
