/// Shapes and strides: sizes in elements, row-major by default.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace diopi {

using Shape = std::vector<int64_t>;
using ShapeView = std::span<const int64_t>;

/// Product of the sizes, 1 for a 0-dim shape; nullopt when a size is negative or the product overflows int64.
[[nodiscard]] std::optional<int64_t> checked_numel(ShapeView shape);
/// Product of the sizes of a shape that is known to be valid.
[[nodiscard]] int64_t numel(ShapeView shape);
/// Row-major strides in elements. A dimension of size 0 counts as 1, as in PyTorch.
[[nodiscard]] Shape contiguous_strides(ShapeView shape);
/// Whether the strides are row-major; strides of dimensions of size 1 do not matter.
[[nodiscard]] bool is_contiguous(ShapeView shape, ShapeView strides);
/// Elements of storage that a view spans: 1 + sum of (size - 1) * stride, 0 when the view is empty.
[[nodiscard]] int64_t storage_extent(ShapeView shape, ShapeView strides);
/// The common shape of two operands, nullopt when they do not broadcast.
[[nodiscard]] std::optional<Shape> broadcast_shapes(ShapeView a, ShapeView b);
/// `dim` counted from the front: -1 is the last one. A 0-dim tensor accepts -1 and 0. nullopt when out of range.
[[nodiscard]] std::optional<int64_t> wrap_dim(int64_t dim, int64_t rank);
/// "(32, 16)", "(4,)", "()": as Python prints a tuple.
[[nodiscard]] std::string to_string(ShapeView shape);

}  // namespace diopi
