/// Convolutions of three sides.
#include "kernels/cpu/conv.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

#include "kernels/entries/conv_volume.inc"

}  // namespace diopi::cpu
