/// Normalisation of rows, whose arguments are not checked yet.
#pragma once

#include "kernels/cpu/view.hpp"
#include "kernels/operands/norm.hpp"

namespace diopi::cpu {

[[nodiscard]] diopiError_t normalise_layer(diopiContextHandle_t ctx, LayerNorm a);
[[nodiscard]] diopiError_t normalise_layer_backward(diopiContextHandle_t ctx, LayerNormGradient a);

}  // namespace diopi::cpu
