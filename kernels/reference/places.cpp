#include "kernels/reference/places.hpp"

#include <algorithm>
#include <numeric>

namespace diopi::reference {

Positions all_of_dim(int64_t size) {
    Positions all(static_cast<size_t>(size));
    std::iota(all.begin(), all.end(), int64_t{0});
    return all;
}

Places places_by_dim(ShapeView shape, std::span<const Positions> positions) {
    Places places{{}, {0}};
    for (size_t d = 0; d < positions.size(); ++d) {
        std::vector<int64_t> at;
        at.reserve(places.at.size() * positions[d].size());
        for (const int64_t outer : places.at) {
            for (const int64_t p : positions[d]) {
                at.push_back(outer == kNowhere || p == kNowhere ? kNowhere : outer * shape[d] + p);
            }
        }
        places.at = std::move(at);
        places.shape.push_back(static_cast<int64_t>(positions[d].size()));
    }
    return places;
}

Places places_along(ShapeView shape, size_t dim, Positions positions) {
    std::vector<Positions> all;
    for (const int64_t size : shape) all.push_back(all_of_dim(size));
    all[dim] = std::move(positions);
    return places_by_dim(shape, all);
}

int64_t require_place(int64_t at, int64_t size) {
    if (at >= -size && at < size) return at < 0 ? at + size : at;
    refuse("a place is " + std::to_string(at) + ", wanted " + std::to_string(-size) + " to " +
           std::to_string(size - 1) + ": there are " + std::to_string(size));
}

Operand<int64_t> index_numbers(diopiConstTensorHandle_t index, bool takes_int32) {
    const Dtype dtype = view_of(index).dtype;
    if (dtype != Dtype::int64 && !(takes_int32 && dtype == Dtype::int32)) {
        refuse_dtype("index", dtype, takes_int32 ? "int32 or int64" : "int64");
    }
    return {index, "index"};
}

ShapeView shape_of(diopiConstTensorHandle_t tensor) { return view_of(tensor).shape; }

Shape common_shape(ShapeView a, ShapeView b) {
    auto shape = broadcast_shapes(a, b);
    if (!shape) refuse("shapes " + to_string(a) + " and " + to_string(b) + " do not broadcast");
    return std::move(*shape);
}

Places places_by_index(ShapeView shape, int64_t dim, diopiConstTensorHandle_t index) {
    const Operand<int64_t> at = index_numbers(index, false);
    const int64_t rank = static_cast<int64_t>(shape.size());
    const auto d = static_cast<size_t>(require_dim(dim, rank));
    Places places{Shape(at.shape().begin(), at.shape().end()), {}};
    if (at.numel() == 0) return places;
    const Shape sizes = rank == 0 ? Shape{1} : Shape(shape.begin(), shape.end());
    const Shape own = at.rank() == 0 ? Shape{1} : places.shape;
    if (own.size() != sizes.size()) refuse("index and input differ in their number of dimensions");
    const Shape strides = contiguous_strides(sizes);
    std::vector<Positions> others;
    for (size_t e = 0; e < own.size(); ++e) {
        if (e != d && own[e] > sizes[e]) {
            refuse("index has shape " + to_string(own) + ", wanted one within " + to_string(sizes));
        }
        // Along dim the place comes from the index itself.
        others.push_back(e == d ? Positions(static_cast<size_t>(own[e]), 0) : all_of_dim(own[e]));
    }
    places.at = places_by_dim(sizes, others).at;
    for (int64_t k = 0; k < at.numel(); ++k) {
        if (at[k] < 0) refuse("index holds " + std::to_string(at[k]) + ", wanted 0 or more");
        places.at[static_cast<size_t>(k)] += require_place(at[k], sizes[d]) * strides[d];
    }
    return places;
}

namespace {

/// An index tensor for one dim.
struct DimIndex {
    size_t dim = 0;
    Shape shape;
    std::vector<int64_t> numbers;
};

/// The coordinates of the places where a mask is true, one index for each of its dims.
void add_mask(diopiConstTensorHandle_t mask, ShapeView shape, size_t dim, std::vector<DimIndex>& indices) {
    const Operand<int64_t> is(mask, "indices");
    const auto rank = static_cast<size_t>(is.rank());
    require_shape("a mask", is.shape(), shape.subspan(dim, rank));
    const Shape strides = contiguous_strides(is.shape());
    std::vector<DimIndex> found(rank);
    size_t count = 0;
    for (int64_t k = 0; k < is.numel(); ++k) count += is[k] != 0 ? 1 : 0;
    for (DimIndex& each : found) each.numbers.reserve(count);
    for (int64_t k = 0; k < is.numel(); ++k) {
        if (is[k] == 0) continue;
        for (size_t d = 0; d < rank; ++d) found[d].numbers.push_back(k / strides[d] % is.shape()[d]);
    }
    for (size_t d = 0; d < rank; ++d) {
        found[d].dim = dim + d;
        found[d].shape = {static_cast<int64_t>(found[d].numbers.size())};
        indices.push_back(std::move(found[d]));
    }
}

std::vector<DimIndex> indices_of(ShapeView shape, std::span<const diopiConstTensorHandle_t> tensors) {
    std::vector<DimIndex> indices;
    size_t dim = 0;
    for (const diopiConstTensorHandle_t tensor : tensors) {
        const Dtype dtype = tensor == nullptr ? Dtype::int64 : view_of(tensor).dtype;
        const bool is_mask = dtype == Dtype::boolean || dtype == Dtype::uint8;
        const size_t dims = is_mask ? view_of(tensor).shape.size() : 1;
        if (dim + dims > shape.size()) refuse("indices name more dimensions than there are");
        if (is_mask) {
            add_mask(tensor, shape, dim, indices);
        } else if (tensor != nullptr) {
            const Operand<int64_t> at = index_numbers(tensor, true);
            DimIndex& index = indices.emplace_back(DimIndex{dim, Shape(at.shape().begin(), at.shape().end()), {}});
            for (int64_t k = 0; k < at.numel(); ++k) index.numbers.push_back(require_place(at[k], shape[dim]));
        }
        dim += dims;
    }
    if (indices.empty()) refuse("indices holds no tensor");
    return indices;
}

/// The sums of offsets, one of each list, the last list being the innermost.
std::vector<int64_t> outer_sums(std::vector<int64_t> a, std::vector<int64_t> b) {
    const std::vector<int64_t> zero{0};
    if (a == zero) return b;
    if (b == zero) return a;
    std::vector<int64_t> sums;
    sums.reserve(a.size() * b.size());
    for (const int64_t x : a) {
        for (const int64_t y : b) sums.push_back(x + y);
    }
    return sums;
}

}  // namespace

Places places_by_tensors(ShapeView shape, std::span<const diopiConstTensorHandle_t> tensors) {
    const std::vector<DimIndex> indices = indices_of(shape, tensors);
    const Shape strides = contiguous_strides(shape);
    const size_t first = indices.front().dim;
    // The dims of the index tensors' own shape come first if other dims stand between the indexed ones.
    const bool is_adjacent = indices.back().dim - first + 1 == indices.size();
    Shape wide;
    for (const DimIndex& index : indices) wide = common_shape(wide, index.shape);
    std::vector<int64_t> indexed(static_cast<size_t>(numel(wide)), 0), before{0}, behind{0};
    for (const DimIndex& index : indices) {
        const Shape repeats = broadcast_strides("indices", index.shape, wide), dense = contiguous_strides(wide);
        const Rows<2> rows(wide, {ShapeView(dense), ShapeView(repeats)});
        rows.for_each([&](const Rows<2>::Offsets& at) {
            for (int64_t i = 0; i < rows.length(); ++i) {
                const int64_t number = index.numbers[static_cast<size_t>(at[1] + i * rows.step()[1])];
                indexed[static_cast<size_t>(at[0] + i * rows.step()[0])] += number * strides[index.dim];
            }
        });
    }
    Places places;
    Shape tail;
    for (size_t d = 0; d < shape.size(); ++d) {
        if (std::ranges::find(indices, d, &DimIndex::dim) != indices.end()) continue;
        const bool is_before = is_adjacent && d < first;
        std::vector<int64_t> steps = all_of_dim(shape[d]);
        for (int64_t& step : steps) step *= strides[d];
        (is_before ? before : behind) = outer_sums(is_before ? before : behind, steps);
        (is_before ? places.shape : tail).push_back(shape[d]);
    }
    places.shape.insert(places.shape.end(), wide.begin(), wide.end());
    places.shape.insert(places.shape.end(), tail.begin(), tail.end());
    places.at = outer_sums(outer_sums(std::move(before), std::move(indexed)), std::move(behind));
    return places;
}

Places places_under(diopiConstTensorHandle_t mask, ShapeView shape, ShapeView wide) {
    if (view_of(mask).dtype != Dtype::boolean) refuse_dtype("mask", view_of(mask).dtype, "bool");
    const Operand<int64_t> is(mask, "mask");
    const Shape own = broadcast_strides("input", shape, wide), masks = broadcast_strides("mask", is.shape(), wide);
    const Rows<2> rows(wide, {ShapeView(own), ShapeView(masks)});
    Places places;
    rows.for_each([&](const Rows<2>::Offsets& at) {
        for (int64_t i = 0; i < rows.length(); ++i) {
            if (is[at[1] + i * rows.step()[1]] != 0) places.at.push_back(at[0] + i * rows.step()[0]);
        }
    });
    places.shape = {static_cast<int64_t>(places.at.size())};
    return places;
}

diopiTensorHandle_t make_output(diopiContextHandle_t ctx, ShapeView shape, Dtype dtype, ShapeView strides) {
    const diopiSize_t size{shape.data(), static_cast<int64_t>(shape.size())};
    const diopiSize_t steps{strides.data(), static_cast<int64_t>(strides.size())};
    diopiTensorHandle_t made = nullptr;
    if (diopiRequireTensor(ctx, &made, &size, &steps, to_c(dtype), diopi_device) != diopiSuccess)
        throw std::bad_alloc();
    return made;
}

void require_same_dtype(std::string_view argument, diopiConstTensorHandle_t tensor, diopiConstTensorHandle_t input) {
    const Dtype wanted = view_of(input).dtype;
    if (view_of(tensor).dtype != wanted) refuse_dtype(argument, view_of(tensor).dtype, name(wanted));
}

}  // namespace diopi::reference
