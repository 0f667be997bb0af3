/// The rule of each accuracy class for one element, which decides what the vectorised scan (scan.hpp) cannot.
#pragma once

#include "check/bound.hpp"
#include "core/dtype.hpp"

namespace diopi {

/// The parameters of rounding to a binary floating-point format.
struct Format {
    int significand = 53;      ///< bits, the hidden one included
    int min_exponent = -1022;  ///< exponent of the smallest normal number
    double largest = 0;        ///< the largest finite number
    double overflow = 0;       ///< the least magnitude that rounds to infinity; infinite for float64
};

/// The floating dtype of the real and imaginary parts of a complex dtype; any other dtype unchanged.
[[nodiscard]] Dtype component_of(Dtype dtype);

/// The format of a floating dtype.
[[nodiscard]] Format format_of(Dtype dtype);

/// One ulp of the format at `exact`: the distance of the two neighbours around it, the smaller of both at a power of
/// two (the OpenCL definition), that of the denormals below the smallest normal number.
[[nodiscard]] double ulp_of(double exact, const Format& format);

/// A class and its bounds as one formula: |actual - exact| <= atol + rtol |exact| + ulps ulp(exact) + sums S.
struct Rule {
    Format format;
    double atol = 0;
    double rtol = 0;
    double ulps = 0;
    double sums = 0;
    bool bitwise = false;   ///< class A: a tie must go to the even neighbour
    bool has_sums = false;  ///< class D: S counts, and the warn bound is tested
    double warn_ulps = 0;
    double warn_sums = 0;
};

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

/// `actual`: a value of the output dtype; `exact`: the unrounded oracle; `sum`: S of class D, ignored elsewhere. Where
/// `exact` is infinite and `sum` is NaN, `actual` may be either.
[[nodiscard]] Judgement judge(double actual, double exact, double sum, const Rule& rule);

}  // namespace diopi
