/// Normalisation of groups of channels, whose arguments are read and checked.
#pragma once

#include "kernels/cpu/view.hpp"
#include "kernels/operands/norm.hpp"

namespace diopi::cpu {

[[nodiscard]] diopiError_t normalise_groups(diopiContextHandle_t ctx, const GroupNorm& a);
/// Statistics that are null are computed anew.
[[nodiscard]] diopiError_t normalise_groups_backward(diopiContextHandle_t ctx, const GroupNormGradient& a);

}  // namespace diopi::cpu
