/// Pools whose mode is an argument.
#include "kernels/reference/pool.hpp"

#include <algorithm>
#include <string>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

#include "kernels/entries/sides/pool_modes.inc"

}  // namespace

#include "kernels/entries/pool.inc"

}  // namespace diopi::reference
