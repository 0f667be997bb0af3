/// The largest size of a tensor.
#pragma once

#include "core/shape.hpp"

namespace diopi {

/// Whether every byte offset of a tensor of this shape fits in int64, even with 16-byte elements. Dimensions of size 0
/// count as 1, so that the row-major strides fit, too; a negative size does not fit.
[[nodiscard]] bool is_addressable(ShapeView shape);

}  // namespace diopi
