/// The largest size of a tensor.
#pragma once

#include "core/shape.hpp"

namespace diopi {

/// Whether every offset in bytes of such a tensor, also one of 16-byte elements, fits in int64. Dimensions of size 0
/// count as 1, so that the row-major strides fit, too; a negative size does not.
[[nodiscard]] bool is_addressable(ShapeView shape);

}  // namespace diopi
