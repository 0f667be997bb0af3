/// Tiles of binary cross entropy and of its gradients. Their operands are those of ElementLoss; the state is the factor
/// of a gradient, of the compute type.
#pragma once

#include "kernels/cpu/unary.hpp"

namespace diopi::cpu {

[[nodiscard]] RealTiles entropy_tiles();
[[nodiscard]] RealTiles entropy_slope_tiles();
/// These take logits. Their operands end with the weight of the element and the weight of the positive class.
[[nodiscard]] RealTiles logit_entropy_tiles();
[[nodiscard]] RealTiles logit_entropy_slope_tiles();

}  // namespace diopi::cpu
