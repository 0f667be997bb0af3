/// The pattern of an output's mismatches, which often shows the fault.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/shape.hpp"

namespace diopi {

/// One phrase for the pattern of `mismatches`, the row-major indices of wrong elements, ascending and unique:
/// "last element", "last row", "column 4", "batch 1, row 3", "tail of the last tile of 8 columns (from 96)",
/// "every 8th element, from 3", "whole tensor", "scattered". Empty when there are none. A pattern that a few random
/// positions may well show is not reported.
[[nodiscard]] std::string locate(ShapeView shape, std::span<const int64_t> mismatches);

/// A small picture of the wrong elements: the tensor as rows of its last dim, a tensor of one dim as a row, in at most
/// 16 x 64 cells of equal numbers of elements but for the last ones. A cell is '.' if all its elements are right, '#'
/// if all are wrong, else the tenths of them that are wrong, from '0'. No rows without mismatches.
[[nodiscard]] std::vector<std::string> picture_of(ShapeView shape, std::span<const int64_t> mismatches);

}  // namespace diopi
