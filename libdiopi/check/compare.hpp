/// Compares what an operator wrote with what the float64 reference says, by accuracy class (docs/accuracy.md).
#pragma once

#include "check/verdict.hpp"
#include "core/tensor.hpp"
#include "schema/schema.hpp"

namespace diopi {

/// A bitwise, B correctly rounded, C ulp of a function, D sum of products, E tolerance, F random.
using Accuracy = AccuracyClass;

/// What an output must be within.
struct Bound {
    Accuracy accuracy = Accuracy::E;
    Tolerance tolerance;
    /// Class C: largest error in ulp for float32 (2.5 for declared-fast division, 3 for exp, 16 for pow, ...).
    double max_ulp = 0.5;
    /// Class D: length of the accumulation, and unit roundoff of the declared accumulator.
    int64_t accumulation_length = 1;
    double accumulator_roundoff = 0x1p-24;
    /// Class D: extra relative error on the sum of magnitudes (2 * 2^-11 when TF32 is declared).
    double extra_roundoff = 0;
};

/// The outcome of one comparison.
struct Comparison {
    Deviation deviation;
    bool passed = true;
    FailureKind kind = FailureKind::kNone;  ///< kForm or kValues when it did not pass
    std::string reason;   ///< one line for people when it did not pass: shape, dtype, NaN position or value mismatch
    std::string warning;  ///< class D between the warn and the fail bound
};

/// Compares `actual` (host memory, any strides, its own dtype) with `expected`.
/// `expected`: host, contiguous; float64 for floating outputs (the unrounded oracle), int64 for integers, complex128,
/// bool for bool. `spec` is the shape and dtype that the output must have.
/// `magnitude`: class D only, S = sum of |terms| per element, float64, same shape; null otherwise.
[[nodiscard]] Comparison compare(const Tensor& actual, const Tensor& expected, const TensorSpec& spec,
                                 const Bound& bound, const Tensor* magnitude);

}  // namespace diopi
