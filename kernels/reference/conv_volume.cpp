/// Convolutions of three sides.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/conv.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

#include "kernels/entries/conv_volume.inc"

}  // namespace diopi::reference
