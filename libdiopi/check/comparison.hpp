/// The result type of comparisons.
#pragma once

#include <string>

#include "check/verdict.hpp"

namespace diopi {

/// A comparison that fails explains the failure, or does not, because another one follows.
enum class OnMismatch { kExplain, kStop };

/// The outcome of one comparison.
struct Comparison {
    Deviation deviation;
    bool passed = true;
    FailureKind kind = FailureKind::kNone;  ///< kForm or kValues when it did not pass
    std::string reason;   ///< one line for users when it did not pass: shape, dtype, NaN position or value mismatch
    std::string warning;  ///< class D between the warn and the fail bound
};

}  // namespace diopi
