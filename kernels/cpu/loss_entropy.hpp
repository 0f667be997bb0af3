/// Tiles of binary cross entropy, of focal loss and of their gradients. Their operands are those of ElementLoss; the
/// state is an array of numbers of the compute type, of which the first is the factor of a gradient.
#pragma once

#include "kernels/cpu/unary.hpp"

namespace diopi::cpu {

[[nodiscard]] RealTiles entropy_tiles();
[[nodiscard]] RealTiles entropy_slope_tiles();
/// These take logits. Their operands end with the weight of the element and the weight of the positive class.
[[nodiscard]] RealTiles logit_entropy_tiles();
[[nodiscard]] RealTiles logit_entropy_slope_tiles();
/// Alpha and gamma follow the factor.
[[nodiscard]] RealTiles focal_tiles();
[[nodiscard]] RealTiles focal_slope_tiles();

}  // namespace diopi::cpu
