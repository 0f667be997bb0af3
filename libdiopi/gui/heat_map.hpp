/// The compared tensors of a replay bundle as maps of cells: one slice of two dims, reduced to what a screen can show.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capture/bundle.hpp"
#include "core/tensor.hpp"

namespace diopi {

/// An output of the bundle's call; contiguous host tensors. Complex numbers are compared by their real parts.
struct BundleTensor {
    std::string name;  ///< "out", "tensors.2"
    TensorPtr ours;    ///< of the tested library; null after a crash or a hang
    TensorPtr theirs;  ///< expected; null for a random operator
};

enum class HeatSide { kOurs, kTheirs, kDifference };

/// The elements of a map: all of two dims, and one index of each other.
struct HeatSlice {
    int64_t row_dim = -1;     ///< -1: the tensor has less than two dims
    int64_t column_dim = -1;  ///< -1: the tensor has none
    Shape index;              ///< by dim; not used for row_dim and column_dim
    bool operator==(const HeatSlice&) const = default;
};

struct HeatMap {
    int64_t rows = 0, columns = 0;              ///< of cells
    int64_t block_rows = 1, block_columns = 1;  ///< elements of a cell, fewer at the last edges
    /// The element of each block with the largest |value|, with its sign; NaN before infinities before numbers.
    std::vector<double> cells;
    double low = 0, high = 0;          ///< the range of the finite elements; for the difference symmetric around 0
    int64_t nans = 0, infinities = 0;  ///< elements
};

inline constexpr int64_t kMostCells = 512;

/// The outputs that have a value on one side or on both, in the order of the arguments.
[[nodiscard]] std::vector<BundleTensor> tensors_of(const Bundle& bundle);

/// Whether the tensor has that side; the difference needs both, of one shape.
[[nodiscard]] bool has_side(const BundleTensor& tensor, HeatSide side);
[[nodiscard]] const Shape& shape_of(const BundleTensor& tensor, HeatSide side);

/// One element, row-major. The difference is ours - theirs, and 0 where both are NaN or the same infinity.
[[nodiscard]] double element_of(const BundleTensor& tensor, HeatSide side, int64_t flat);

/// The last two dims, at the first index of the others.
[[nodiscard]] HeatSlice last_dims(ShapeView shape);
/// The last two dims at the element with the largest difference, or last_dims() of a tensor without a difference.
[[nodiscard]] HeatSlice first_slice(const BundleTensor& tensor);

/// The row-major number of the element at a row and a column of the slice.
[[nodiscard]] int64_t flat_of(ShapeView shape, const HeatSlice& slice, int64_t row, int64_t column);

/// At most `most_cells` rows and columns. The slice must fit the shape of that side.
[[nodiscard]] HeatMap heat_map(const BundleTensor& tensor, HeatSide side, const HeatSlice& slice,
                               int64_t most_cells = kMostCells);

}  // namespace diopi
