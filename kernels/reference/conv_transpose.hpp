/// Transposed convolutions of images of one, two or three sides, which the functions of the standard are made of.
#pragma once

#include <diopi/diopirt.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace diopi::reference {
#include "kernels/entries/sides/conv_transpose.inc"
}  // namespace diopi::reference
