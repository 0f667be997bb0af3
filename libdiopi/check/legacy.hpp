/// The check of the old suite, for results that must be comparable with its: numpy.isclose, and a share of the elements
/// that may be wrong by any amount. Shape and dtype are not checked, except for the number of elements.
#pragma once

#include "check/compare.hpp"

namespace diopi {

/// Passes when no more than tolerance.mismatch_ratio of the elements violate |actual - expected| <= atol + rtol *
/// |expected|, the expected value rounded to the dtype of `actual` first; NaN equals NaN. `expected` as for compare().
/// Figures of the deviation are as in class E; mismatches are counted when the check passes, too.
[[nodiscard]] Comparison compare_legacy(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance);

}  // namespace diopi
