/// The check of the old suite, for results comparable with it: numpy.isclose, and a share of the elements that may be
/// wrong by any amount. Shape and dtype are not checked, except for the number of elements.
#pragma once

#include "check/compare.hpp"

namespace diopi {

/// Passes when no more than tolerance.mismatch_ratio of the elements violate |actual - expected| <= atol + rtol *
/// |expected|, where the expected value is first rounded to the dtype of `actual`; NaN equals NaN. `expected` is as for
/// compare(). The deviation is measured as in class E; mismatches are counted when the check passes, too.
[[nodiscard]] Comparison compare_legacy(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance);

}  // namespace diopi
