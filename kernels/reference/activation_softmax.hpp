/// The logarithm of softmax on plain memory, for the kernels that contain it.
#pragma once

#include <cstdint>

#include "kernels/reference/exponentials.hpp"

namespace diopi::reference {

/// y = x - m - log(sum(exp(x - m))) with maximum m and sum along the middle one of the sizes (outer, n, inner).
void log_softmax(const double* x, double* y, int64_t outer, int64_t n, int64_t inner, const Exponentials& take_powers);
void log_softmax(const double* x, Inexact* y, int64_t outer, int64_t n, int64_t inner, const Exponentials& take_powers);

}  // namespace diopi::reference
