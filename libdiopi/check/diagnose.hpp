/// The second pass, over an output that is known to be wrong: finds the elements, their errors, and the message.
#pragma once

#include <string>
#include <vector>

#include "check/comparison.hpp"
#include "check/scan.hpp"
#include "check/ulp_histogram.hpp"
#include "core/tensor.hpp"

namespace diopi {

/// The facts about each mismatch.
struct Diagnosis {
    std::vector<int64_t> mismatches;  ///< row-major indices of wrong elements, ascending
    int64_t worst = 0;                ///< the first NaN or infinity out of place, else the largest share of the bound
    int64_t non_finite = 0;           ///< wrong elements where NaN or infinity is involved
    double p99_ulp = 0;               ///< over all elements, or a regular sample of millions
    UlpHistogram ulp;                 ///< of all elements, or of their parts
    Scan figures;                     ///< for integers; those of floating outputs come from the scan
};

[[nodiscard]] Diagnosis diagnose(const Operands& operands, const Rule& rule);

/// Whether integers (or bools, one byte each) equal the oracle (int64, wrapped modulo 2^n; or bool). Both contiguous.
[[nodiscard]] bool equal_integers(const Tensor& actual, const Tensor& oracle);
[[nodiscard]] Diagnosis diagnose_integers(const Tensor& actual, const Tensor& oracle);

/// Fills the figures of a failed comparison, and its reason: "37 of 4096 elements differ: max 12.5 ulp at (3, 17):
/// got 0.51, expected 0.5; last row". Both tensors contiguous.
void explain(const Diagnosis& diagnosis, const Tensor& actual, const Tensor& oracle, Comparison& comparison);

}  // namespace diopi
