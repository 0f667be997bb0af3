/// The rule of each accuracy class for one element, which decides what the vectorised scan (scan.hpp) cannot.
#pragma once

#include "check/bound.hpp"
#include "core/format.hpp"

namespace diopi {

/// One ulp of the format at `exact`: the distance of the two neighbours around it, the smaller of both at a power of
/// two (the OpenCL definition), that of the denormals below the smallest normal number.
[[nodiscard]] double ulp_of(double exact, const Format& format);

/// A class and its bounds as one formula: |actual - exact| <= atol + rtol |exact| + ulps ulp(exact) + sums S, where S
/// is a sum of magnitudes (class D) or an error bound (class E).
struct Rule {
    Format format;
    double atol = 0;
    double rtol = 0;
    double ulps = 0;
    double sums = 0;
    bool bitwise = false;           ///< class A: a tie must go to the even neighbour
    bool has_sums = false;          ///< S counts
    bool may_be_unbounded = false;  ///< class E: where S is not finite, any value is right for a finite result
    double warn_ulps = 0;           ///< class D: a larger error than that of these two is a warning
    double warn_sums = 0;
};

/// Class E allows this many times the error bound of a plain, careful computation, and one ulp.
inline constexpr double kErrorFactor = 2;

/// The rule for outputs of the floating `dtype` (a component dtype). Class F has none and must not be passed.
[[nodiscard]] Rule make_rule(const Bound& bound, Dtype dtype);

/// The judgement of one element.
struct Judgement {
    bool ok = true;
    bool finite = true;  ///< both values are finite in the output dtype; the figures below are 0 otherwise
    bool warned = false;
    double abs_error = 0;
    double rel_error = 0;  ///< 0 where the exact value is 0
    double ulp_error = 0;
    double share = 0;  ///< share of the allowed error
};

/// `actual`: a value of the output dtype; `exact`: the unrounded oracle; `sum`: S of classes D and E, ignored
/// elsewhere. Where `exact` is infinite and `sum` is NaN, `actual` may be either.
[[nodiscard]] Judgement judge(double actual, double exact, double sum, const Rule& rule);

}  // namespace diopi
