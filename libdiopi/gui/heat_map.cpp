#include "gui/heat_map.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>

#include "call/tensors.hpp"
#include "check/oracle.hpp"

namespace diopi {

namespace {

TensorPtr gathered_at(const std::vector<ArgTensor>& tensors, ArgPlace place) {
    const auto found = std::ranges::find(tensors, place, &ArgTensor::place);
    if (found == tensors.end() || found->tensor == nullptr) return nullptr;
    return std::make_shared<Tensor>(gathered(*found->tensor));
}

double difference_of(double ours, double theirs) {
    const bool is_same = ours == theirs || (std::isnan(ours) && std::isnan(theirs));
    return is_same ? 0 : ours - theirs;
}

/// The order in which the elements of a block are preferred: NaN, infinities, then the larger |value|.
std::pair<int, double> prominence(double value) {
    if (std::isnan(value)) return {2, 0};
    return std::isinf(value) ? std::pair(1, 0.0) : std::pair(0, std::abs(value));
}

int64_t extent_of(ShapeView shape, int64_t dim) { return dim < 0 ? 1 : shape[static_cast<size_t>(dim)]; }

/// Elements per cell, so that at most `most` cells hold all.
int64_t block_of(int64_t elements, int64_t most) { return std::max<int64_t>(1, (elements + most - 1) / most); }

void add_element(double value, double& cell, HeatMap& map) {
    if (prominence(value) > prominence(cell)) cell = value;
    if (std::isnan(value)) {
        ++map.nans;
    } else if (std::isinf(value)) {
        ++map.infinities;
    } else {
        map.low = std::min(map.low, value);
        map.high = std::max(map.high, value);
    }
}

/// The range is empty until an element was added; without a finite one it is that of 0.
void settle_range(HeatSide side, HeatMap& map) {
    if (map.low > map.high) map.low = map.high = 0;
    if (side != HeatSide::kDifference) return;
    map.high = std::max(std::abs(map.low), std::abs(map.high));
    map.low = -map.high;
}

}  // namespace

std::vector<BundleTensor> tensors_of(const Bundle& bundle) {
    std::vector<BundleTensor> tensors;
    for (const OutputSpec& output : bundle.outputs) {
        const Place place{bundle.stored.call.row->args()[output.arg], static_cast<int64_t>(output.position)};
        BundleTensor tensor{place.name(), gathered_at(bundle.actual, output.place()),
                            gathered_at(bundle.expected, output.place())};
        if (tensor.ours != nullptr || tensor.theirs != nullptr) tensors.push_back(std::move(tensor));
    }
    return tensors;
}

bool has_side(const BundleTensor& tensor, HeatSide side) {
    switch (side) {
        case HeatSide::kOurs:
            return tensor.ours != nullptr;
        case HeatSide::kTheirs:
            return tensor.theirs != nullptr;
        case HeatSide::kDifference:
            break;
    }
    return tensor.ours != nullptr && tensor.theirs != nullptr && tensor.ours->shape == tensor.theirs->shape;
}

const Shape& shape_of(const BundleTensor& tensor, HeatSide side) {
    const TensorPtr& shown = side == HeatSide::kTheirs ? tensor.theirs : tensor.ours;
    assert(shown != nullptr);
    return shown->shape;
}

double element_of(const BundleTensor& tensor, HeatSide side, int64_t flat) {
    switch (side) {
        case HeatSide::kOurs:
            return real_of(*tensor.ours, flat);
        case HeatSide::kTheirs:
            return real_of(*tensor.theirs, flat);
        case HeatSide::kDifference:
            break;
    }
    return difference_of(real_of(*tensor.ours, flat), real_of(*tensor.theirs, flat));
}

HeatSlice last_dims(ShapeView shape) {
    const auto rank = static_cast<int64_t>(shape.size());
    return {rank < 2 ? -1 : rank - 2, rank - 1, Shape(shape.size(), 0)};
}

HeatSlice first_slice(const BundleTensor& tensor) {
    const Shape& shape = shape_of(tensor, has_side(tensor, HeatSide::kOurs) ? HeatSide::kOurs : HeatSide::kTheirs);
    HeatSlice slice = last_dims(shape);
    if (!has_side(tensor, HeatSide::kDifference)) return slice;
    int64_t worst = 0;
    auto most = prominence(0);
    for (int64_t flat = 0; flat < numel(shape); ++flat) {
        const auto here = prominence(element_of(tensor, HeatSide::kDifference, flat));
        if (here > most) std::tie(worst, most) = std::pair(flat, here);
    }
    if (worst > 0) slice.index = unravel(worst, shape);
    return slice;
}

int64_t flat_of(ShapeView shape, const HeatSlice& slice, int64_t row, int64_t column) {
    int64_t flat = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
        const auto dim = static_cast<int64_t>(d);
        const int64_t index = dim == slice.row_dim ? row : dim == slice.column_dim ? column : slice.index[d];
        flat = flat * shape[d] + index;
    }
    return flat;
}

HeatMap heat_map(const BundleTensor& tensor, HeatSide side, const HeatSlice& slice, int64_t most_cells) {
    const Shape& shape = shape_of(tensor, side);
    HeatMap map;
    if (numel(shape) == 0) return map;
    const int64_t rows = extent_of(shape, slice.row_dim), columns = extent_of(shape, slice.column_dim);
    map.block_rows = block_of(rows, most_cells);
    map.block_columns = block_of(columns, most_cells);
    map.rows = block_of(rows, map.block_rows);
    map.columns = block_of(columns, map.block_columns);
    map.cells.assign(static_cast<size_t>(map.rows * map.columns), 0);
    map.low = std::numeric_limits<double>::infinity();
    map.high = -map.low;
    const int64_t first = flat_of(shape, slice, 0, 0);
    const int64_t row_step = rows > 1 ? flat_of(shape, slice, 1, 0) - first : 0;
    const int64_t column_step = columns > 1 ? flat_of(shape, slice, 0, 1) - first : 0;
    for (int64_t row = 0; row < rows; ++row) {
        double* const cells = map.cells.data() + row / map.block_rows * map.columns;
        for (int64_t column = 0; column < columns; ++column) {
            const double value = element_of(tensor, side, first + row * row_step + column * column_step);
            add_element(value, cells[column / map.block_columns], map);
        }
    }
    settle_range(side, map);
    return map;
}

}  // namespace diopi
