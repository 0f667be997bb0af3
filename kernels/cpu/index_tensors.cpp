/// Index tensors and masks for several dims. The indexed dims become one list of offsets; those before and behind it
/// are two more, of which the last one is a run of neighbours wherever the tensor is dense.
#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "kernels/cpu/item.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operands.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/positions.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/cpu/tile.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/index.hpp"
#include "kernels/operands/index_places.hpp"

namespace diopi::cpu {

namespace {

/// An index for one dim: dense numbers of that shape.
struct DimIndex {
    size_t dim = 0;
    Shape shape;
    Positions numbers;
};

bool is_mask(const View& index) { return index.dtype == Dtype::boolean || index.dtype == Dtype::uint8; }

class IndexReader {
 public:
    IndexReader(diopiContextHandle_t ctx, std::string_view op, ShapeView shape) : ctx_(ctx), op_(op), shape_(shape) {}

    diopiError_t read(std::span<const diopiConstTensorHandle_t> tensors) {
        if (shape_.size() > kMaxRank) return refuse(op_, "more than 16 dimensions");
        for (const diopiConstTensorHandle_t tensor : tensors) {
            const diopiError_t error = tensor == nullptr ? skip() : take(view(tensor));
            if (error != diopiSuccess) return error;
        }
        return indices.empty() ? refuse(op_, "indices holds no tensor") : diopiSuccess;
    }

    std::vector<DimIndex> indices;
    Shape wide;  ///< the shape to which all indices broadcast

 private:
    diopiError_t too_many() { return refuse(op_, "indices name more than " + std::to_string(shape_.size()) + " dims"); }

    diopiError_t skip() { return dim_++ < shape_.size() ? diopiSuccess : too_many(); }

    diopiError_t take(const View& index) {
        const size_t dims = is_mask(index) ? index.shape.size() : 1;
        if (dim_ + dims > shape_.size()) return too_many();
        if (is_mask(index)) {
            const diopiError_t error = check_shape(op_, "a mask", index, shape_.subspan(dim_, dims));
            if (error != diopiSuccess) return error;
            return take_mask(index);
        }
        if (!is_index(index.dtype)) return unsupported(op_, "indices", index.dtype, "int32, int64, bool or uint8");
        Positions numbers;
        const diopiError_t error = read_positions(ctx_, op_, index, shape_[dim_], Negative::from_end, numbers);
        return error != diopiSuccess ? error : add(Shape(index.shape.begin(), index.shape.end()), numbers);
    }

    diopiError_t add(Shape shape, Positions numbers) {
        auto common = broadcast_shapes(wide, shape);
        if (!common) return wrong_shape(op_, "indices", shape, "one that broadcasts to " + to_string(wide));
        wide = std::move(*common);
        indices.push_back({dim_++, std::move(shape), numbers});
        return diopiSuccess;
    }

    /// The coordinates of the true places, one index for each dim of the mask.
    diopiError_t take_mask(const View& mask) {
        View dense;
        diopiError_t error = contiguous_as(ctx_, mask, Dtype::boolean, dense);
        if (error != diopiSuccess) return error;
        const auto* is = dense.as<const uint8_t>();
        const int64_t count = std::count_if(is, is + mask.numel, [](uint8_t byte) { return byte != 0; });
        const auto rank = static_cast<int64_t>(mask.shape.size());
        int64_t* room = nullptr;
        error = require_places(ctx_, count * std::max<int64_t>(rank, 1), room);
        if (error != diopiSuccess) return error;
        int64_t found = 0;
        for (int64_t i = 0; i < mask.numel; ++i) {
            if (is[i] == 0) continue;
            for (int64_t d = rank, rest = i; d-- > 0; rest /= mask.shape[static_cast<size_t>(d)]) {
                room[d * count + found] = rest % mask.shape[static_cast<size_t>(d)];
            }
            ++found;
        }
        for (int64_t d = 0; d < rank; ++d) {
            error = add({count}, {room + d * count, static_cast<size_t>(count)});
            if (error != diopiSuccess) return error;
        }
        return diopiSuccess;
    }

    diopiContextHandle_t ctx_;
    std::string_view op_;
    ShapeView shape_;
    size_t dim_ = 0;
};

/// The places that indices name in a tensor of that shape, as sums of three offsets.
struct Places {
    Shape shape;  ///< of the tensor that has an element for each place
    std::vector<int64_t> before, indexed, behind;
    bool is_run = false;  ///< the offsets behind are 0, 1, 2, ...

    [[nodiscard]] int64_t rows() const { return static_cast<int64_t>(before.size() * indexed.size()); }
    [[nodiscard]] int64_t width() const { return static_cast<int64_t>(behind.size()); }
    /// The offset of the first element of a row.
    [[nodiscard]] int64_t row(int64_t r) const {
        const auto n = static_cast<int64_t>(indexed.size());
        return before[static_cast<size_t>(r / n)] + indexed[static_cast<size_t>(r % n)];
    }
};

/// The most rows that have one place. Short rows are not counted, because that takes longer than adding them.
int64_t most_on_one_place(const Places& places) {
    constexpr int64_t kShort = 16;
    if (places.width() < kShort) return std::ssize(places.indexed);
    std::vector<int64_t> sorted = places.indexed;
    std::ranges::sort(sorted);
    int64_t most = 0;
    for (auto at = sorted.begin(); at != sorted.end();) {
        const auto next = std::upper_bound(at, sorted.end(), *at);
        most = std::max<int64_t>(most, next - at);
        at = next;
    }
    return most;
}

void multiply(std::vector<int64_t>& offsets, int64_t size, int64_t stride) {
    std::vector<int64_t> more;
    more.reserve(offsets.size() * static_cast<size_t>(size));
    for (const int64_t offset : offsets) {
        for (int64_t i = 0; i < size; ++i) more.push_back(offset + i * stride);
    }
    offsets = std::move(more);
}

/// Adds the index's numbers, times the stride of its dim, to offsets of the shape `wide`.
void add_numbers(const DimIndex& index, ShapeView wide, int64_t stride, std::vector<int64_t>& offsets) {
    View own = number_view(Dtype::int64);
    const Shape dense = contiguous_strides(index.shape), all = contiguous_strides(wide);
    own.shape = index.shape;
    own.strides = dense;
    const auto strides = broadcast_strides(own, wide);
    const Nest nest = make_nest(wide, {all.data(), strides.data()});
    if (offsets.empty()) return;
    for_each_outer(nest, 1, [&](const std::array<int64_t, kMaxOperands>& at) {
        int64_t* to = offsets.data() + at[0];
        const int64_t* from = index.numbers.data() + at[1];
        for (int64_t i = 0; i < nest.inner_size(); ++i) {
            to[i * nest.inner_stride(0)] += from[i * nest.inner_stride(1)] * stride;
        }
    });
}

Places places_of(const IndexReader& read, const View& x) {
    const std::vector<DimIndex>& indices = read.indices;
    const size_t first = indices.front().dim;
    const bool is_adjacent = indices.back().dim - first + 1 == indices.size();
    Places places{{}, {0}, std::vector<int64_t>(static_cast<size_t>(numel(read.wide)), 0), {0}, true};
    for (const DimIndex& index : indices) add_numbers(index, read.wide, x.strides[index.dim], places.indexed);
    Shape tail;
    for (size_t d = 0; d < x.shape.size(); ++d) {
        if (std::ranges::find(indices, d, &DimIndex::dim) != indices.end()) continue;
        const bool is_before = is_adjacent && d < first;
        multiply(is_before ? places.before : places.behind, x.shape[d], x.strides[d]);
        (is_before ? places.shape : tail).push_back(x.shape[d]);
    }
    places.shape.insert(places.shape.end(), read.wide.begin(), read.wide.end());
    places.shape.insert(places.shape.end(), tail.begin(), tail.end());
    for (size_t i = 0; i < places.behind.size(); ++i) places.is_run &= places.behind[i] == static_cast<int64_t>(i);
    return places;
}

diopiError_t read_indices(std::string_view op, const diopiConstTensorHandle_t* tensors, int64_t count,
                          IndexReader& read) {
    if (count < 0 || (count > 0 && tensors == nullptr)) return refuse(op, "indices is null, wanted a list");
    return read.read({tensors, static_cast<size_t>(count)});
}

/// Calls visit(element of the dense tensor, element by place) for each element of a row.
template <class Visit>
void visit_row(const Places& places, int64_t r, Visit&& visit) {
    const int64_t offset = places.row(r), n = places.width();
    for (int64_t i = 0; i < n; ++i) visit(r * n + i, offset + places.behind[static_cast<size_t>(i)]);
}

template <class E>
void take_places(const Places& places, const E* x, E* out) {
    const int64_t n = places.width();
    parallel_for(places.rows(), n, Loop::copy, [&](int64_t first, int64_t last) {
        for (int64_t r = first; r < last; ++r) {
            if (places.is_run && n > 1)
                std::memcpy(out + r * n, x + places.row(r), static_cast<size_t>(n) * sizeof(E));
            else
                visit_row(places, r, [&](int64_t k, int64_t at) { out[k] = x[at]; });
        }
    });
}

diopiError_t index(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t* out,
                   diopiConstTensorHandle_t input, diopiConstTensorHandle_t* indices, int64_t nums) {
    const View x = view(input);
    IndexReader read(ctx, op, x.shape);
    diopiError_t error = read_indices(op, indices, nums, read);
    if (error != diopiSuccess) return error;
    const Places places = places_of(read, x);
    diopiTensorHandle_t made = nullptr;
    error = make_output(ctx, places.shape, x.dtype, {}, made);
    if (error != diopiSuccess) return error;
    const View y = view(made);
    if (y.numel > 0) with_item(x.dtype, [&]<class E>() { take_places(places, x.as<const E>(), y.as<E>()); });
    *out = made;
    return diopiSuccess;
}

/// y at the places of row r gets, or adds, the values of a dense tensor.
template <class T>
void add_places(const Places& places, const T* values, T* y) {
    for (int64_t r = 0; r < places.rows(); ++r) {
        visit_row(places, r, [&](int64_t k, int64_t at) { y[at] += values[k]; });
    }
}

template <class T>
diopiError_t add_gradient(diopiContextHandle_t ctx, const IndexReader& read, const View& grad, const View& out) {
    Staging staging(ctx);
    const auto* g = staging.in<T>(grad);
    auto* y = staging.out<T>(out);
    if (staging.error() != diopiSuccess) return staging.error();
    View dense = out;
    const Shape strides = contiguous_strides(out.shape);
    dense.strides = strides;
    std::fill_n(y, out.numel, T{0});
    add_places(places_of(read, dense), g, y);
    return staging.finish();
}

diopiError_t index_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                            diopiTensorHandle_t zeros, diopiConstTensorHandle_t* indices, int64_t nums,
                            diopiConstTensorHandle_t grad_output) {
    const View y = view(grad_input), g = view(grad_output);
    IndexReader read(ctx, op, y.shape);
    diopiError_t error = check_shape(op, "zeros_like_input", view(zeros), y.shape);
    if (error == diopiSuccess) error = check_computable(op, "grad_output", g);
    if (error == diopiSuccess) error = check_computable(op, "grad_input", y);
    if (error == diopiSuccess) error = read_indices(op, indices, nums, read);
    if (error != diopiSuccess) return error;
    const Places places = places_of(read, y);
    error = check_shape(op, "grad_output", g, places.shape);
    if (error != diopiSuccess || y.numel == 0) return error;
    const Dtype sums = dtype_of_sum(y.dtype, most_on_one_place(places));
    const bool is_double = g.dtype == Dtype::float64 || sums == Dtype::float64;
    return (is_double ? add_gradient<double> : add_gradient<float>)(ctx, read, g, y);
}

/// Writes the values to their places. Where several go to one element, the last one stays.
template <class E>
void put_places(const Places& places, const E* values, E* y) {
    const int64_t n = places.width();
    for (int64_t r = 0; r < places.rows(); ++r) {
        if (places.is_run && n > 1)
            std::memcpy(y + places.row(r), values + r * n, static_cast<size_t>(n) * sizeof(E));
        else
            visit_row(places, r, [&](int64_t k, int64_t at) { y[at] = values[k]; });
    }
}

/// y += values at the places of the indices, in a dtype for sums.
diopiError_t accumulate_into(diopiContextHandle_t ctx, const IndexReader& read, Dtype dtype, const View& y,
                             const View& values) {
    View sums = y, terms;
    diopiError_t error = contiguous_as(ctx, values, dtype, terms);
    if (error == diopiSuccess && y.dtype != dtype) {
        error = require(ctx, y.shape, dtype, sums);
        if (error == diopiSuccess) copy(y, sums);
    }
    if (error != diopiSuccess) return error;
    const Places places = places_of(read, sums);
    error = with_wrapping_type(dtype, [&]<class T>() {
        if constexpr (!std::is_same_v<T, Bool>) add_places(places, terms.as<const T>(), sums.as<T>());
        return diopiSuccess;
    });
    if (error == diopiSuccess && sums.data != y.data) copy(sums, y);
    return error;
}

diopiError_t index_put(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input, diopiConstTensorHandle_t values,
                       diopiConstTensorHandle_t* indices, int64_t count, bool accumulate) {
    const View x = view(input), y = view(out), v = view(values);
    IndexReader read(ctx, op, x.shape);
    diopiError_t error = check_like(op, "out", y, x.shape, x.dtype);
    if (error == diopiSuccess && v.dtype != x.dtype) error = unsupported(op, "values", v.dtype, name(x.dtype));
    if (error == diopiSuccess) error = read_indices(op, indices, count, read);
    if (error != diopiSuccess) return error;
    const Places places = places_of(read, y);
    if (!broadcasts_to(v.shape, places.shape)) {
        return wrong_shape(op, "values", v.shape, "one that broadcasts to " + to_string(places.shape));
    }
    View spread;
    const bool is_whole = std::ranges::equal(v.shape, places.shape);
    error = is_whole ? contiguous(ctx, v, spread) : require(ctx, places.shape, v.dtype, spread);
    if (error != diopiSuccess) return error;
    if (!is_whole) copy(v, spread);
    if (!same_view(x, y)) copy(x, y);
    if (spread.numel == 0 || y.numel == 0) return diopiSuccess;
    if (accumulate) return accumulate_into(ctx, read, dtype_of_sum(y.dtype, most_on_one_place(places)), y, spread);
    with_item(y.dtype, [&]<class E>() { put_places(places, spread.as<const E>(), y.as<E>()); });
    return diopiSuccess;
}

}  // namespace

#include "kernels/entries/index_tensors.inc"

}  // namespace diopi::cpu
