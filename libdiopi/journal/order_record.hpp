/// The result of `test --find-order`: cases whose verdict depends on the cases before them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "check/verdict.hpp"

namespace diopi {

/// A case whose verdict varies.
struct OrderFinding {
    std::string case_id;
    Verdict in_run = Verdict::kPassed, shuffled = Verdict::kPassed, alone = Verdict::kPassed;
    /// The verdict also varies when the case runs alone, so that no order explains it.
    bool flaky = false;
    /// The smallest known set of cases after which it gets `verdict`, in their order; empty: none found.
    std::vector<std::string> after;
    /// The seed of addresses at which it gets `verdict`: alone, or after those cases.
    std::optional<uint64_t> addresses;
    Verdict verdict = Verdict::kPassed;
    bool fewest = true;  ///< without any one of `after` it gets another verdict; false: time ran out
};

struct OrderRecord {
    std::vector<OrderFinding> found;  ///< in the order of the cases
    size_t cases = 0;
    int64_t failures = 0;  ///< cases that fail alone
    double seconds = 0;
    std::string options;  ///< appended to each repeat command
};

}  // namespace diopi
