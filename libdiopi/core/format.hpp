/// The binary formats of floating dtypes.
#pragma once

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

/// The largest number of the format that is below a finite `bound`.
[[nodiscard]] double largest_below(double bound, const Format& format);

}  // namespace diopi
