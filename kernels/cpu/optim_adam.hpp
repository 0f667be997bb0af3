/// Steps of Adam, for one parameter at a time.
#pragma once

#include "kernels/operands/optim.hpp"

namespace diopi::cpu {

/// One step with arguments that read_adam has accepted. is_decoupled: AdamW.
[[nodiscard]] diopiError_t step_adam(diopiContextHandle_t ctx, const operands::AdamArguments& a, bool is_decoupled);

}  // namespace diopi::cpu
