/// Compares two runs of one call on the same inputs, whose outputs had different initial bytes.
#pragma once

#include "check/verdict.hpp"
#include "core/tensor.hpp"

namespace diopi {

/// The byte that every byte of the output held before each run.
struct PoisonBytes {
    int first = 0, second = 0;
};

/// An element that still holds its byte in both runs was never written; one that differs otherwise is not repeatable.
/// Both outputs are in host memory and of one shape and dtype; NaN equals NaN whatever its payload. The reason is "3 of
/// 132 elements were never written; last row". With `may_differ` only unwritten elements count.
[[nodiscard]] Failure compare_runs(const Tensor& first, const Tensor& second, PoisonBytes poison, bool may_differ);

}  // namespace diopi
