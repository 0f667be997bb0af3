/// What every cuda family's host side needs of tensors: the shared views and refusals. The data of a view is in the
/// device's memory: never to be touched by the host.
#pragma once

#include "kernels/operands/promotion.hpp"
#include "kernels/operands/refusal.hpp"
#include "kernels/operands/view.hpp"

namespace diopi::cuda {

using namespace operands;

}  // namespace diopi::cuda
