/// The least work of a call: the operations of its formula and the bytes of its tensors. Roofs are measured against it
/// (docs/profile.md).
#pragma once

#include "call/call.hpp"

namespace diopi {

struct CallWork {
    /// Additions, multiplications, comparisons and functions, each counted as one; 0 for operators that only move data
    /// or do so little with each element that the memory decides (element-wise ones).
    double flops = 0;
    /// Each tensor that is read once and each that is written once; elements that broadcasting repeats count once.
    double bytes = 0;
};

/// The work of a call that has all its tensors, with or without memory. Zeros without a formula.
[[nodiscard]] CallWork work_of(const Call& call);

}  // namespace diopi
