/// The shapes of reductions.
#pragma once

#include <vector>

#include "kernels/reference/operand.hpp"

namespace diopi::reference {

/// Refuses an out whose shape is neither `shape` without its reduced dimensions nor `shape` with 1 in their place. (1,)
/// is accepted for ().
void require_reduced_shape(ShapeView out, ShapeView shape, const std::vector<bool>& reduced);

}  // namespace diopi::reference
