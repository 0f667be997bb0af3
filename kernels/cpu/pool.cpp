/// Pools whose mode is an argument.
#include "kernels/cpu/pool.hpp"

#include <algorithm>
#include <string>

#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

#include "kernels/entries/sides/pool_modes.inc"

}  // namespace

#include "kernels/entries/pool.inc"

}  // namespace diopi::cpu
