/// Images of one, two or three sides: their names in messages, and lists with a number for each side.
#pragma once

#include "kernels/reference/operand.hpp"

namespace diopi::reference {

/// "L", "H, W" or "D, H, W".
[[nodiscard]] std::string_view side_names(size_t sides);
/// One number for each side: those of the list, or its only one. Refuses a list of another length.
[[nodiscard]] Shape numbers_of(size_t sides, diopiSize_t list, std::string_view argument);
/// Refuses an input that is not an image (N, C, sides) or (C, sides).
void require_image(size_t sides, ShapeView input);

}  // namespace diopi::reference
