/// The error bounds of an output, by accuracy class (docs/accuracy.md).
#pragma once

#include "check/verdict.hpp"
#include "schema/schema.hpp"

namespace diopi {

/// A bitwise, B correctly rounded, C ulp of a function, D sum of products, E composite, F random.
using Accuracy = AccuracyClass;

/// The error bound of an output.
struct Bound {
    Accuracy accuracy = Accuracy::E;
    Tolerance tolerance;
    /// Class C: largest error in ulp for float32 (2.5 for declared-fast division, 3 for exp, 16 for pow, ...).
    double max_ulp = 0.5;
    /// Class D: length of the accumulation.
    int64_t accumulation_length = 1;
    /// Classes D and E: unit roundoff of the declared accumulator, or of the working dtype.
    double accumulator_roundoff = 0x1p-24;
    /// Class D: extra relative error on the sum of magnitudes (2 * 2^-11 when TF32 is declared).
    double extra_roundoff = 0;
};

}  // namespace diopi
