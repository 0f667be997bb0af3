/// What every reduction shares: which dimensions go, and the two loop nests that remain.
#pragma once

#include "kernels/cpu/view.hpp"

namespace diopi::cpu {

/// A reduction of `in` over some dimensions. For each element of `kept` (operands: in, out) the elements of `joined`
/// (operand: in) are put together.
struct Reduction {
    View in, out;
    Nest kept, joined;
    int64_t count = 1;  ///< elements joined into one

    /// Whether neighbours in memory belong to different results, so that loops should run across the results.
    [[nodiscard]] bool runs_across_results() const;
};

/// Takes the dimensions (counted from either end; none = all) and checks out's shape: the input's with the reduced
/// dimensions dropped or left as 1.
[[nodiscard]] diopiError_t plan_reduction(std::string_view op, const View& out, const View& in, ShapeView dims,
                                          Reduction& plan);

}  // namespace diopi::cpu
