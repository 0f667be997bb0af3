/// The law of attention with dropout: out = sum_j p_j f_j v_j, where f_j is 0 with probability p, else 1 / (1 - p). The
/// oracle computes the mean and the variance of each row: out without dropout, and p / (1 - p) sum_j p_j^2 v_j^2.
#pragma once

#include "check/distribution.hpp"
#include "step/steps.hpp"

namespace diopi {

/// Whether the result of the step, a host tensor, follows that law.
[[nodiscard]] Result<DistributionCheck> check_dropped_attention(const Step& step, const Tensor& out);

}  // namespace diopi
