/// The helpers that the host code of every cuda family uses: the shared views and refusals. The data of a view is in
/// the device's memory, which the host must not access.
#pragma once

#include "kernels/operands/promotion.hpp"
#include "kernels/operands/refusal.hpp"
#include "kernels/operands/view.hpp"

namespace diopi::cuda {

using namespace operands;

}  // namespace diopi::cuda
