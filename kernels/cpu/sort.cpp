/// Sorting: each element becomes a whole number that has its order, and is sorted together with its place. So equal
/// elements keep their order, and no comparison has to think of NaN.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/cpu/item.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/patch.hpp"
#include "kernels/cpu/positions.hpp"
#include "kernels/cpu/sort_keys.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/cpu/tile.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/index.hpp"
#include "kernels/operands/reduction.hpp"
#include "kernels/operands/sort.hpp"

namespace diopi::cpu {

namespace {

/// In a row that is at least this many times longer than the number of wanted elements, most elements are only compared
/// with a limit.
constexpr int64_t kFewShare = 8;
constexpr size_t kFewBlock = 64;      ///< elements that are compared together
constexpr int64_t kSortedCount = 32;  ///< up to so many wanted elements are kept sorted

/// Whether the key of an element of x is below `limit`.
template <class T, class Key>
bool any_below(const T* x, size_t n, Key limit, bool descending) {
    const Key turned = descending ? static_cast<Key>(~Key{0}) : Key{0};
    Key found = 0;
    for (size_t i = 0; i < n; ++i) found |= (key_of(x[i]) ^ turned) < limit ? Key{1} : Key{0};
    return found != 0;
}

/// T: the type of the row; Item: keys of its elements with their places.
template <class T, class Item>
class RowSorter {
 public:
    RowSorter(const AlongDim& plan, const View& in, const View* values, const View& places, Dtype compute,
              int64_t count, bool descending)
        : plan_(plan), in_(in), values_(values), places_(places), count_(count), descending_(descending) {
        loader_.init(in.dtype, compute, buffers_[0]);
        if (values != nullptr) value_storer_.init(values->dtype, compute, buffers_[1]);
        storer_.init(places.dtype, Dtype::int64, buffers_[2]);
        row_.resize(static_cast<size_t>(plan.n));
    }

    void run(int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
            load(r);
            const bool is_few = count_ <= plan_.n / kFewShare;
            if (is_few && count_ <= kSortedCount) {
                list_sorted();
            } else if (is_few) {
                list_few();
            } else {
                list_all();
            }
            order();
            store(r);
        }
    }

 private:
    using Key = decltype(key_of(T{}));

    [[nodiscard]] Key key(T x) const { return descending_ ? static_cast<Key>(~key_of(x)) : key_of(x); }

    void load(int64_t r) {
        const int64_t stride = plan_.strides[0], offset = plan_.offset(0, r);
        for (int64_t i = 0; i < plan_.n; i += kTile) {
            const int64_t n = std::min(kTile, plan_.n - i);
            std::byte* data = in_.data + (offset + i * stride) * in_.item_size();
            std::memcpy(row_.data() + i, loader_.load({data, 1, n, 0, stride}), static_cast<size_t>(n) * sizeof(T));
        }
    }

    void list_all() {
        items_.resize(row_.size());
        for (size_t i = 0; i < row_.size(); ++i) items_[i] = Item(key(row_[i]), static_cast<int64_t>(i));
    }

    /// Keeps the first count_ of the elements that came, sorted.
    void list_sorted() {
        const auto wanted = static_cast<size_t>(count_);
        Key limit = std::numeric_limits<Key>::max();
        items_.clear();
        for (size_t i = 0; i < row_.size(); i += kFewBlock) {
            const size_t end = std::min(i + kFewBlock, row_.size());
            if (items_.size() == wanted && !any_below_(row_.data() + i, end - i, limit, descending_)) continue;
            for (size_t k = i; k < end; ++k) {
                const Key own = key(row_[k]);
                if (items_.size() == wanted && own >= limit) continue;
                if (items_.size() < wanted) items_.emplace_back();
                const Item item(own, static_cast<int64_t>(k));
                size_t at = items_.size() - 1;
                for (; at > 0 && item < items_[at - 1]; --at) items_[at] = items_[at - 1];
                items_[at] = item;
                limit = items_.back().key();
            }
        }
    }

    /// Leaves out elements that have count_ others before them in the order: they are not among the first.
    void list_few() {
        items_.clear();
        const size_t most = static_cast<size_t>(2 * count_) + kFewBlock;
        Key limit = std::numeric_limits<Key>::max();
        bool is_limited = false;
        for (size_t i = 0; i < row_.size(); i += kFewBlock) {
            const size_t n = std::min(kFewBlock, row_.size() - i);
            if (is_limited && !any_below_(row_.data() + i, n, limit, descending_)) continue;
            for (size_t k = i; k < i + n; ++k) {
                const Key own = key(row_[k]);
                if (own < limit || !is_limited) items_.emplace_back(own, static_cast<int64_t>(k));
            }
            if (items_.size() + kFewBlock <= most) continue;
            const auto last = items_.begin() + static_cast<std::ptrdiff_t>(count_) - 1;
            std::nth_element(items_.begin(), last, items_.end());
            limit = last->key();
            is_limited = true;
            items_.erase(last + 1, items_.end());
        }
    }

    /// The first count_ items become the first ones of the order.
    void order() {
        if (count_ == plan_.n) return sort_all(items_, other_);
        const auto last = items_.begin() + static_cast<std::ptrdiff_t>(count_);
        if (last != items_.end()) std::nth_element(items_.begin(), last, items_.end());
        std::sort(items_.begin(), last);
    }

    void store(int64_t r) {
        for (int64_t i = 0; i < count_; i += kTile) {
            const int64_t n = std::min(kTile, count_ - i);
            for (int64_t k = 0; k < n; ++k) {
                at_[k] = items_[static_cast<size_t>(i + k)].place();
                chosen_[k] = row_[static_cast<size_t>(at_[k])];
            }
            const auto patch = [&](const View& view, size_t tensor) {
                const int64_t stride = plan_.strides[tensor], offset = plan_.offset(tensor, r) + i * stride;
                return Patch{view.data + offset * view.item_size(), 1, n, 0, stride};
            };
            if (values_ != nullptr) value_storer_.store(chosen_, patch(*values_, 1));
            storer_.store(at_, patch(places_, 2));
        }
    }

    const AlongDim& plan_;
    const View in_;
    const View* values_;
    const View places_;
    int64_t count_;
    bool descending_;
    Loader loader_;
    Storer value_storer_, storer_;
    Buffers buffers_[3];
    std::vector<T> row_;
    std::vector<Item> items_, other_;
    decltype(best<any_below<T, Key>>()) any_below_ = best<any_below<T, Key>>();
    int64_t at_[kTile];
    T chosen_[kTile];
};

template <class T, class Item>
diopiError_t sort_rows(const AlongDim& plan, const View& in, const View* values, const View& places, Dtype compute,
                       int64_t count, bool descending) {
    parallel_for(plan.rows, 8 * plan.n, Loop::arithmetic, [&](int64_t begin, int64_t end) {
        std::make_unique<RowSorter<T, Item>>(plan, in, values, places, compute, count, descending)->run(begin, end);
    });
    return diopiSuccess;
}

/// count: -1 for all elements.
diopiError_t sorted(std::string_view op, const View* values, const View& places, const View& in, int64_t dim,
                    int64_t count, bool descending) {
    if (const diopiError_t error = check_ordered(op, in); error != diopiSuccess) return error;
    if (!is_index(places.dtype)) return unsupported(op, "indices", places.dtype, "int64 or int32");
    AlongDim plan;
    if (const diopiError_t error = plan_along(op, in, {values, &places}, dim, count, plan); error != diopiSuccess) {
        return error;
    }
    if (places.numel == 0) return diopiSuccess;
    if (!holds_indices(places.dtype, plan.n)) {
        return unsupported(op, "indices", places.dtype, "int64 for so many elements");
    }
    const int64_t first = count < 0 ? plan.n : count;
    const bool is_short = plan.n <= int64_t{std::numeric_limits<uint32_t>::max()};
    if (wide(in.dtype) == Dtype::float64) {
        return sort_rows<double, Pair>(plan, in, values, places, Dtype::float64, first, descending);
    }
    if (wide(in.dtype) == Dtype::float32) {
        return is_short ? sort_rows<float, Packed>(plan, in, values, places, Dtype::float32, first, descending)
                        : sort_rows<float, Pair>(plan, in, values, places, Dtype::float32, first, descending);
    }
    return sort_rows<int64_t, Pair>(plan, in, values, places, Dtype::int64, first, descending);
}

diopiError_t sort_along(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t values,
                        diopiTensorHandle_t indices, diopiConstTensorHandle_t input, int64_t dim, bool descending,
                        const bool*) {
    const View y = view(values);
    return sorted(op, &y, view(indices), view(input), dim, -1, descending);
}

/// dim null: the last one.
diopiError_t argsort(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                     bool, const int64_t* dim, bool descending) {
    return sorted(op, nullptr, view(out), view(input), dim == nullptr ? -1 : *dim, -1, descending);
}

diopiError_t topk(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t values, diopiTensorHandle_t indices,
                  diopiConstTensorHandle_t input, int64_t k, int64_t dim, bool largest, bool) {
    if (k < 0) return refuse(op, "k is " + std::to_string(k) + ", wanted 0 or more");
    const View y = view(values);
    return sorted(op, &y, view(indices), view(input), dim, k, largest);
}

/// A dense gradient with `given` elements along a dim, for one of `n` elements there.
struct GradientOfPlaces {
    int64_t outer, n, given, inner;

    /// Puts each element at its place, all others are 0; threads share the matrices, or the columns of a single one.
    template <class E>
    void put(const E* from, const int64_t* places, E* to) const {
        const int64_t matrix = n * inner, of_matrix = given * inner;
        const auto put_columns = [=, this](int64_t o, int64_t first, int64_t last) {
            for (int64_t k = 0; k < given; ++k) {
                const int64_t row = o * of_matrix + k * inner;
                for (int64_t i = first; i < last; ++i) to[o * matrix + places[row + i] * inner + i] = from[row + i];
            }
        };
        if (outer == 1) {
            std::fill_n(to, matrix, E());
            return parallel_for(inner, n, Loop::arithmetic,
                                [&](int64_t first, int64_t last) { put_columns(0, first, last); });
        }
        parallel_for(outer, matrix, Loop::arithmetic, [&](int64_t first, int64_t last) {
            for (int64_t o = first; o < last; ++o) {
                std::fill_n(to + o * matrix, matrix, E());
                if (inner != 1) {
                    put_columns(o, 0, inner);
                    continue;
                }
                for (int64_t k = 0; k < given; ++k) to[o * n + places[o * given + k]] = from[o * given + k];
            }
        });
    }
};

/// Refuses a gradient whose shape is not that of grad_input with another size along dim, or without dim.
diopiError_t check_given(std::string_view op, const View& grad, const View& out, size_t along, bool keepdim) {
    Shape wanted(out.shape.begin(), out.shape.end());
    if (!wanted.empty() && !keepdim) wanted.erase(wanted.begin() + static_cast<std::ptrdiff_t>(along));
    const bool has_dim = !wanted.empty() && keepdim && grad.shape.size() == wanted.size();
    if (has_dim) wanted[along] = grad.shape[along];
    return check_shape(op, "grad_output", grad, wanted);
}

diopiError_t sort_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                           diopiConstTensorHandle_t grad_output, int64_t dim, diopiConstTensorHandle_t indices,
                           diopiSize_t sizes, bool keepdim) {
    const View out = view(grad_input), grad = view(grad_output), places = view(indices);
    if (const diopiError_t error = check_shape(op, "grad_input", out, list_of(sizes)); error != diopiSuccess) {
        return error;
    }
    if (!is_index(places.dtype)) return unsupported(op, "indices", places.dtype, "int64 or int32");
    const auto wrapped = wrap_dim(dim, out.rank());
    if (!wrapped) return refuse(op, "dim is " + std::to_string(dim) + ", but sizes are " + to_string(out.shape));
    const auto along = static_cast<size_t>(*wrapped);
    diopiError_t error = check_given(op, grad, out, along, keepdim);
    if (error == diopiSuccess) error = check_shape(op, "indices", places, grad.shape);
    View dense, from;
    Positions positions;
    const int64_t n = out.shape.empty() ? 1 : out.shape[along];
    if (error == diopiSuccess) error = read_positions(ctx, op, places, n, Negative::refused, positions);
    if (error == diopiSuccess) error = require_dense(ctx, out, dense);
    if (error == diopiSuccess) error = contiguous_as(ctx, grad, out.dtype, from);
    if (error != diopiSuccess || out.numel == 0) return error;
    const int64_t outer = out.shape.empty() ? 1 : numel(out.shape.first(along)), inner = out.numel / (outer * n);
    const GradientOfPlaces gradient{outer, n, grad.numel / (outer * inner), inner};
    with_item(out.dtype, [&]<class E>() { gradient.put(from.as<const E>(), positions.data(), dense.as<E>()); });
    if (dense.data != out.data) copy(dense, out);
    return diopiSuccess;
}

}  // namespace

#include "kernels/entries/sort.inc"

}  // namespace diopi::cpu
