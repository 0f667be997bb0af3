/// The pattern of an output's mismatches, which often shows the fault.
#pragma once

#include <span>
#include <string>

#include "core/shape.hpp"

namespace diopi {

/// One phrase for the pattern of `mismatches`, the row-major indices of wrong elements, ascending and unique:
/// "last element", "last row", "column 4", "batch 1, row 3", "tail of the last tile of 8 columns (from 96)",
/// "every 8th element, from 3", "whole tensor", "scattered". Empty when there are none. A pattern that a few random
/// positions may well show is not reported.
[[nodiscard]] std::string locate(ShapeView shape, std::span<const int64_t> mismatches);

}  // namespace diopi
