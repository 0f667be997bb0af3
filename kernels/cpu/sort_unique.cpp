/// Distinct elements: keys are sorted with their places, and runs of one key become one element. Slices along a dim are
/// sorted as rows of keys.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/sort_keys.hpp"
#include "kernels/cpu/view.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/index.hpp"
#include "kernels/operands/shape_order.hpp"

namespace diopi::cpu {

namespace {

/// The runs of equal slices in rising order.
struct Runs {
    std::vector<int64_t> firsts;  ///< the first slice of each run
    std::vector<int64_t> counts;
    int64_t* place = nullptr;  ///< the run of each slice; null if nobody wants it

    void add(int64_t slice, bool is_new) {
        if (is_new) {
            firsts.push_back(slice);
            counts.push_back(0);
        }
        ++counts.back();
        if (place != nullptr) place[slice] = std::ssize(firsts) - 1;
    }
};

template <class T>
using KeyOf = decltype(key_of(T()));

/// NaN has the greatest key, which no number has; a whole number may.
template <class T>
bool is_nan_key(KeyOf<T> key) {
    return std::is_floating_point_v<T> && key == std::numeric_limits<KeyOf<T>>::max();
}

template <class T, class Item>
void sort_elements(const T* x, int64_t n, Runs& runs) {
    std::vector<Item> items(static_cast<size_t>(n)), other;
    for (int64_t i = 0; i < n; ++i) items[static_cast<size_t>(i)] = Item(key_of(x[i]), i);
    if (n > 0) sort_all(items, other);
    for (size_t i = 0; i < items.size(); ++i) {
        const auto key = items[i].key();
        runs.add(items[i].place(), i == 0 || key != items[i - 1].key() || is_nan_key<T>(key));
    }
}

/// Slices of `length` elements.
template <class T>
void sort_slices(const T* x, int64_t n, int64_t length, Runs& runs) {
    using Key = KeyOf<T>;
    std::vector<Key> keys(static_cast<size_t>(n * length));
    std::transform(x, x + n * length, keys.begin(), [](T element) { return key_of(element); });
    const auto slice = [&](int64_t k) { return keys.data() + k * length; };
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        const auto [u, v] = std::mismatch(slice(a), slice(a) + length, slice(b));
        return u == slice(a) + length ? a < b : *u < *v;
    });
    for (size_t i = 0; i < order.size(); ++i) {
        const Key* own = slice(order[i]);
        const bool is_new = i == 0 || !std::equal(own, own + length, slice(order[i - 1])) ||
                            std::any_of(own, own + length, [](Key key) { return is_nan_key<T>(key); });
        runs.add(order[i], is_new);
    }
}

/// Finds the runs of a dense tensor of n slices.
template <class T>
diopiError_t find_runs(diopiContextHandle_t ctx, const View& slices, Dtype compute, int64_t n, Runs& runs) {
    View dense;
    if (const diopiError_t error = contiguous_as(ctx, slices, compute, dense); error != diopiSuccess) return error;
    const T* x = dense.as<const T>();
    const int64_t length = n == 0 ? 1 : dense.numel / n;
    if (length > 1)
        sort_slices(x, n, length, runs);
    else if (sizeof(T) == 4 && n <= int64_t{1} << 32)
        sort_elements<T, std::conditional_t<sizeof(T) == 4, Packed, Pair>>(x, n, runs);
    else
        sort_elements<T, Pair>(x, n, runs);
    return diopiSuccess;
}

diopiError_t find_runs(diopiContextHandle_t ctx, const View& slices, int64_t n, Runs& runs) {
    switch (slices.dtype) {
        case Dtype::float64:
            return find_runs<double>(ctx, slices, Dtype::float64, n, runs);
        case Dtype::uint64:
            return find_runs<uint64_t>(ctx, slices, Dtype::uint64, n, runs);
        case Dtype::int64:
        case Dtype::uint32:
            return find_runs<int64_t>(ctx, slices, Dtype::int64, n, runs);
        default:
            if (is_floating(slices.dtype)) return find_runs<float>(ctx, slices, Dtype::float32, n, runs);
            return find_runs<int32_t>(ctx, slices, Dtype::int32, n, runs);
    }
}

/// A view of the tensor with the dim as the first one.
struct DimFirst {
    Shape shape, strides;
    View view;

    DimFirst(const View& tensor, size_t dim)
        : shape(tensor.shape.begin(), tensor.shape.end()),
          strides(tensor.strides.begin(), tensor.strides.end()),
          view(tensor) {
        for (Shape* list : {&shape, &strides}) {
            if (list->empty()) continue;
            const auto first = list->begin() + static_cast<std::ptrdiff_t>(dim);
            std::rotate(list->begin(), first, first + 1);
        }
        view.shape = shape;
        view.strides = strides;
    }
};

/// The first slice of each run, one after the other.
diopiError_t gather(diopiContextHandle_t ctx, const View& slices, int64_t n, const std::vector<int64_t>& firsts,
                    const View& out) {
    View dense, to;
    diopiError_t error = contiguous(ctx, slices, dense);
    if (error == diopiSuccess) error = require_dense(ctx, out, to);
    if (error != diopiSuccess || out.numel == 0) return error;
    const auto bytes = static_cast<size_t>(dense.numel / n * dense.item_size());
    for (size_t j = 0; j < firsts.size(); ++j) {
        std::memcpy(to.data + j * bytes, dense.data + static_cast<size_t>(firsts[j]) * bytes, bytes);
    }
    if (to.data != out.data) copy(to, out);
    return diopiSuccess;
}

/// The arguments of a call, after they were checked.
struct Plan {
    size_t dim = 0;
    bool has_dim = false;
    int64_t n = 0;  ///< slices
};

diopiError_t read_unique(std::string_view op, const View& x, const int64_t* dim, diopiTensorHandle_t indices,
                         bool lacks_counts, Plan& plan) {
    if (is_complex(x.dtype)) return unsupported(op, "input", x.dtype, "a real dtype: complex numbers have no order");
    if (const diopiError_t error = check_rank(op, "input", x); error != diopiSuccess) return error;
    if (lacks_counts) return refuse(op, "counts is null, wanted a pointer for return_counts");
    plan.n = x.numel;
    plan.has_dim = dim != nullptr;
    if (plan.has_dim) {
        const auto at = wrap_dim(*dim, x.rank());
        if (!at || x.rank() == 0) {
            return refuse(op, "dim is " + std::to_string(*dim) + ", but input has shape " + to_string(x.shape));
        }
        plan.dim = static_cast<size_t>(*at);
        plan.n = x.shape[plan.dim];
        if (std::ranges::count(x.shape, 0) > (plan.n == 0 ? 1 : 0)) {
            return wrong_shape(op, "input", x.shape, "elements in each slice along dim");
        }
    }
    if (indices == nullptr) return diopiSuccess;
    const View places = view(indices);
    if (!is_index(places.dtype)) return unsupported(op, "indices", places.dtype, "int64 or int32");
    return check_shape(op, "indices", places, plan.has_dim ? ShapeView(&plan.n, 1) : x.shape);
}

diopiError_t unique(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t* out,
                    diopiConstTensorHandle_t input, const int64_t* dim, bool, bool return_counts,
                    diopiTensorHandle_t indices, diopiTensorHandle_t* counts) {
    const View x = view(input);
    Plan plan;
    diopiError_t error = read_unique(op, x, dim, indices, return_counts && counts == nullptr, plan);
    if (error != diopiSuccess) return error;
    const DimFirst moved(x, plan.dim);
    const View& slices = plan.has_dim ? moved.view : x;
    Runs runs;
    View places;
    if (indices != nullptr) {
        const View wanted = view(indices);
        const bool is_own = wanted.dtype == Dtype::int64 && wanted.is_contiguous();
        error = is_own ? diopiSuccess : require(ctx, wanted.shape, Dtype::int64, places);
        if (is_own) places = wanted;
    }
    if (error != diopiSuccess) return error;
    runs.place = indices != nullptr ? places.as<int64_t>() : nullptr;
    if (error = find_runs(ctx, slices, plan.n, runs); error != diopiSuccess) return error;
    const auto found = std::ssize(runs.firsts);
    Shape shape = {found};
    if (plan.has_dim) {
        shape.assign(x.shape.begin(), x.shape.end());
        shape[plan.dim] = found;
    }
    diopiTensorHandle_t made = nullptr, made_counts = nullptr;
    error = make_output(ctx, shape, x.dtype, {}, made);
    if (error == diopiSuccess && return_counts) error = make_output(ctx, Shape{found}, Dtype::int64, {}, made_counts);
    if (error != diopiSuccess) return error;
    const View y = view(made);
    const DimFirst moved_out(y, plan.dim);
    error = gather(ctx, slices, plan.n, runs.firsts, plan.has_dim ? moved_out.view : y);
    if (error != diopiSuccess) return error;
    if (indices != nullptr && places.data != view(indices).data) copy(places, view(indices));
    if (return_counts && found > 0) std::ranges::copy(runs.counts, view(made_counts).as<int64_t>());
    if (return_counts) *counts = made_counts;
    *out = made;
    return diopiSuccess;
}

}  // namespace

#include "kernels/entries/sort_unique.inc"

}  // namespace diopi::cpu
