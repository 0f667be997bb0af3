#include "cases/layout.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "cases/bind.hpp"
#include "cases/draw.hpp"

namespace diopi {

namespace {

/// The largest memory that a tensor sliced along every dim may span; a larger one is sliced along the innermost only.
constexpr int64_t kMostSliced = int64_t{1} << 22;
constexpr int64_t kStep = 2;
constexpr int64_t kOffset = 3;
/// The elements between two rows of a slice of columns: at least so many, and whole vectors.
constexpr int64_t kPadding = 16, kVector = 8;
constexpr int64_t kWideExtent = int64_t{1} << 31;

/// The changes that --strided makes to one tensor.
struct View {
    bool transposed = false, sliced = false, sliced_everywhere = false, moved = false, padded = false, outer = false;
};

constexpr View kViews[] = {
    {.transposed = true},
    {.sliced = true},
    {.sliced = true, .sliced_everywhere = true},
    {.moved = true, .padded = true},
    {.transposed = true, .sliced = true, .moved = true},
    {.outer = true},
};

/// Dims from the outermost to the innermost in memory.
using Order = std::vector<size_t>;

bool has_channels_last(const Arg& arg, const Shape& shape, const LayoutOptions& options) {
    return options.nhwc && arg.channels_last && static_cast<int>(shape.size()) >= options.nhwc_min_dim;
}

/// The dim of the channels, the rank when there is none.
size_t channel_dim(const Arg& arg, size_t rank) {
    if (arg.spatial_dims < 0) return 1;
    const auto spatial = static_cast<size_t>(arg.spatial_dims);
    return spatial < rank ? rank - 1 - spatial : rank;
}

Order memory_order(const Arg& arg, const Shape& shape, const LayoutOptions& options) {
    Order order(shape.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const size_t channels = channel_dim(arg, shape.size());
    if (has_channels_last(arg, shape, options) && channels < shape.size()) {
        std::rotate(order.begin() + static_cast<std::ptrdiff_t>(channels),
                    order.begin() + static_cast<std::ptrdiff_t>(channels) + 1, order.end());
    }
    const bool is_result = arg.is_output || arg.name.starts_with("grad_");
    if (options.results && is_result && order.size() > 1) std::rotate(order.begin(), order.begin() + 1, order.end());
    return order;
}

/// The distance of two rows of so many elements, with elements between them that are not the tensor's.
int64_t padded(int64_t row) { return (row + kPadding + kVector - 1) / kVector * kVector; }

/// The view that the salt chooses among those that the tensor's shape and order allow.
View view_of(const Shape& shape, const Order& order, uint64_t salt) {
    if (numel(shape) == 1) return {.moved = true};
    View view = kViews[salt % std::size(kViews)];
    const size_t rank = shape.size();
    const bool is_ordered = std::ranges::is_sorted(order);
    const bool swaps = rank >= 2 && is_ordered && shape[rank - 1] > 1 && shape[rank - 2] > 1;
    if (view.transposed && !swaps) view = {.sliced = true, .sliced_everywhere = view.moved, .moved = view.moved};
    const int64_t doublings = int64_t{1} << std::min<size_t>(rank, 30);
    view.sliced_everywhere = view.sliced_everywhere && numel(shape) <= kMostSliced / doublings;
    const auto inner = std::ranges::find_if(order.rbegin(), order.rend(), [&](size_t d) { return shape[d] > 1; });
    const int64_t row = shape[*inner];
    view.padded = view.padded && numel(shape) > row && numel(shape) / row <= kMostSliced / padded(row);
    return view;
}

/// Strides of elements that follow each other in that order, `step` places apart along the innermost dim that has more
/// than one element, along the outermost one, or along each dim, or with padding behind each row of the innermost.
Shape ordered_strides(const Shape& shape, const Order& order, const View& view) {
    Shape strides(shape.size(), 1);
    int64_t stride = 1;
    bool is_inner = view.sliced, pads = view.padded;
    for (size_t i = order.size(); i-- > 0;) {
        const size_t d = order[i];
        const bool stepped = (is_inner || view.sliced_everywhere) && shape[d] > 1;
        if (stepped) {
            stride *= kStep;
            is_inner = false;
        }
        strides[d] = stride;
        stride *= shape[d];
        if (pads && shape[d] > 1) stride = padded(stride);
        pads = pads && shape[d] == 1;
    }
    const auto outermost = std::ranges::find_if(order, [&](size_t d) { return shape[d] > 1; });
    if (view.outer && outermost != order.end()) strides[*outermost] *= kStep;
    return strides;
}

void widen(const Shape& shape, const Order& order, Shape& strides) {
    const auto outermost = std::ranges::find_if(order, [&](size_t d) { return shape[d] >= 2; });
    if (outermost == order.end()) return;
    const int64_t steps = shape[*outermost] - 1;
    strides[*outermost] = std::max(strides[*outermost], (kWideExtent + steps - 1) / steps);
}

/// Sets strides that reach no second element to other numbers.
void give_odd_strides(const Shape& shape, uint64_t salt, int64_t extent, Shape& strides) {
    const int64_t outside = extent + 7;
    for (size_t d = 0; d < shape.size(); ++d) {
        if (shape[d] != 1) continue;
        const int64_t odd[] = {outside, 0, 1};
        const int64_t chosen = odd[(salt + d) % std::size(odd)];
        strides[d] = chosen == strides[d] ? outside : chosen;
    }
}

/// Row-major strides where sizes of 0 are multiplied as they are.
Shape empty_strides(const Shape& shape) {
    Shape strides(shape.size(), 1);
    for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
    return strides;
}

Layout own_layout(const TensorSpec& tensor) {
    const Shape strides = tensor.strides.empty() ? contiguous_strides(tensor.shape) : tensor.strides;
    return {strides, 0, storage_extent(tensor.shape, strides)};
}

}  // namespace

Layout layout_of(const Arg& arg, const TensorSpec& tensor, uint64_t salt, const LayoutOptions& options) {
    Layout own = own_layout(tensor);
    if (own.extent == 0) {
        if (options.host) own.strides = empty_strides(tensor.shape);
        return own;
    }
    Order order = memory_order(arg, tensor.shape, options);
    const bool is_reordered = !std::ranges::is_sorted(order);
    const View view = options.strided ? view_of(tensor.shape, order, salt) : View();
    if (view.transposed) std::swap(order[order.size() - 1], order[order.size() - 2]);
    Layout layout{ordered_strides(tensor.shape, order, view), view.moved ? kOffset : 0, 0};
    if (options.wide) widen(tensor.shape, order, layout.strides);
    layout.extent = layout.offset + storage_extent(tensor.shape, layout.strides);
    const bool is_wide = options.wide && layout.extent > kWideExtent;
    Layout& chosen = options.strided || is_reordered || is_wide ? layout : own;
    // A view is moved by itself.
    if (options.unaligned && !options.strided) {
        ++chosen.offset;
        ++chosen.extent;
    }
    if (options.host) give_odd_strides(tensor.shape, salt, chosen.extent, chosen.strides);
    return chosen;
}

Layout layout_of(const Arg& arg, const Tensor& tensor, uint64_t salt, const LayoutOptions& options) {
    return layout_of(arg, TensorSpec{tensor.shape, tensor.dtype, tensor.strides}, salt, options);
}

Shape repeating_strides(const Shape& shape, Repeats repeats) {
    Shape once = shape;
    const auto has_several = [](int64_t size) { return size > 1; };
    const auto first = std::ranges::find_if(once, has_several);
    if (repeats == Repeats::kFirst && first != once.end()) *first = 1;
    if (repeats == Repeats::kLast && first != once.end()) *std::find_if(once.rbegin(), once.rend(), has_several) = 1;
    if (repeats == Repeats::kAll) std::ranges::replace_if(once, has_several, 1);
    Shape strides = contiguous_strides(once);
    for (size_t d = 0; d < shape.size(); ++d) {
        if (once[d] != shape[d]) strides[d] = 0;
    }
    return strides;
}

bool takes_vector(const Row& row) {
    return row.rule == ShapeRule::reduce_mean || row.rule == ShapeRule::reduce_sum ||
           row.rule == ShapeRule::reduce_index;
}

uint64_t layout_salt(const Case& c, std::string_view arg, int64_t position) {
    return tensor_key(c.key(0), arg, position) >> 32;
}

bool applies(const Row& row, const Case& c, const LayoutOptions& options) {
    if (options.host && takes_vector(row)) return true;
    return std::ranges::any_of(c.tensors, [&](const CaseTensor& tensor) {
        const Arg* arg = arg_of(row, tensor);
        if (arg == nullptr || tensor.absent || tensor.sparse_csr) return false;
        return std::ranges::any_of(tensor.specs, [&](const TensorSpec& spec) {
            return layout_of(*arg, spec, 0, options) != layout_of(*arg, spec, 0, {});
        });
    });
}

}  // namespace diopi
