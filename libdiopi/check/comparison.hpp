/// The result type of comparisons.
#pragma once

#include <string>

#include "check/verdict.hpp"

namespace diopi {

/// A comparison that fails explains the failure, or does not, because another one follows.
enum class OnMismatch { kExplain, kStop };

/// Sums over the elements that are finite on both sides.
struct CosineSums {
    double dot = 0, square_actual = 0, square_expected = 0;

    void add(double actual, double expected) {
        dot += actual * expected;
        square_actual += actual * actual;
        square_expected += expected * expected;
    }
    CosineSums& operator+=(const CosineSums& other);
    /// Cosine of the angle between both sides; 1 when both are zero, 0 when one is.
    [[nodiscard]] double cosine() const;
};

/// The outcome of one comparison.
struct Comparison {
    Deviation deviation;
    CosineSums cosine_sums;
    bool passed = true;
    FailureKind kind = FailureKind::kNone;  ///< kForm or kValues when it did not pass
    std::string reason;   ///< one line for users when it did not pass: shape, dtype, NaN position or value mismatch
    std::string warning;  ///< class D between the warn and the fail bound
};

}  // namespace diopi
