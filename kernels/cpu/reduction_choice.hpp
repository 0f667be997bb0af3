/// The choice of one element for each result of a reduction, and of its place. Among equal elements it is the first;
/// NaN is beyond all numbers.
#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>

#include "core/instruction_sets.hpp"
#include "kernels/cpu/patch.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/cpu/tile.hpp"
#include "kernels/operands/index.hpp"
#include "kernels/operands/reduction.hpp"

namespace diopi::cpu::choice {

constexpr int64_t kLanes = 32;

template <class T>
[[nodiscard]] bool is_nan(T x) {
    return x != x;
}

/// Whether x is beyond y: greater, or less.
template <bool kGreatest, class T>
[[nodiscard]] bool is_beyond(T x, T y) {
    return kGreatest ? x > y : x < y;
}

/// Partial results of a row, and whether a lane has met a NaN, which no comparison selects.
template <bool kGreatest, class T>
struct Lanes {
    using Mask = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    T top[kLanes];
    Mask nan[kLanes] = {};

    explicit Lanes(T first) { std::fill_n(top, kLanes, first); }
    void join(int64_t lane, T x, Mask x_nan) {
        top[lane] = is_beyond<kGreatest>(x, top[lane]) ? x : top[lane];
        nan[lane] |= x_nan;
    }
};

/// The extreme of n >= 1 elements, NaN if there is one.
template <bool kGreatest, class T>
T extreme(const T* x, int64_t n) {
    Lanes<kGreatest, T> lanes(x[0]);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        for (int64_t l = 0; l < kLanes; ++l) lanes.join(l, x[i + l], is_nan(x[i + l]));
    }
    for (int64_t l = 0; i < n; ++i, ++l) lanes.join(l, x[i], is_nan(x[i]));
    for (int64_t half = kLanes / 2; half > 0; half /= 2) {
        for (int64_t l = 0; l < half; ++l) lanes.join(l, lanes.top[l + half], lanes.nan[l + half]);
    }
    if constexpr (std::is_floating_point_v<T>) {
        if (lanes.nan[0] != 0) return std::numeric_limits<T>::quiet_NaN();
    }
    return lanes.top[0];
}

/// The index of the first of n elements that equals `top`, or that is a NaN if `top` is one; there is such an element.
template <class T>
int64_t first_of(const T* x, int64_t n, T top) {
    const bool wants_nan = is_nan(top);
    const auto fits = [=](T y) { return y == top || (wants_nan && is_nan(y)); };
    int64_t i = 0;
    for (; !wants_nan && i + kLanes <= n; i += kLanes) {
        typename Lanes<true, T>::Mask found = 0;
        for (int64_t l = 0; l < kLanes; ++l) found |= x[i + l] == top ? 1 : 0;
        if (found != 0) break;
    }
    return std::find_if(x + i, x + n, fits) - x;
}

/// Whether x takes the place of an earlier `best`.
template <bool kGreatest, class T>
bool is_better(T x, T best) {
    return is_beyond<kGreatest>(x, best) || (is_nan(x) && !is_nan(best));
}

/// The same for each of n results: element k of each is x[i].
template <bool kGreatest, class T, class Index>
void improve(const T* x, int64_t n, Index k, T* best, Index* indices) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
        const bool better = is_beyond<kGreatest>(x[i], best[i]) | (is_nan(x[i]) & !is_nan(best[i]));
        best[i] = better ? x[i] : best[i];
        indices[i] = better ? k : indices[i];
    }
}

/// The extreme of each result, and its place. T: the type of the input's tiles; Index: as wide as T, for loops across
/// results.
template <bool kGreatest, class T, class Index>
class Choice {
 public:
    /// plan.kept: operands input, places, and values where they are wanted.
    Choice(const Reduction& plan, const View& places, const View* values, const View& in, Dtype compute)
        : plan_(plan), places_(places), values_(values), in_(in) {
        loader_.init(in.dtype, compute, in_buffers_);
        storer_.init(places.dtype, Dtype::int64, out_buffers_);
        if (values != nullptr) value_storer_.init(values->dtype, compute, value_buffers_);
    }

    void run() {
        const bool index_fits = plan_.count <= std::numeric_limits<Index>::max();
        if (plan_.runs_across_results() && index_fits) {
            for_each_outer(plan_.kept, 1, [this](const auto& at) { columns(at); });
        } else {
            for_each_outer(plan_.kept, 0, [this](const auto& at) {
                results_[0] = row(at[0]);
                store(at, 0, 1);
            });
        }
    }

 private:
    using Offsets = std::array<int64_t, kMaxOperands>;

    [[nodiscard]] const T* load(int64_t offset, int64_t n, int64_t stride) {
        return static_cast<const T*>(loader_.load({in_.data + offset * in_.item_size(), 1, n, 0, stride}));
    }

    /// Stores n results: those from `first` on of the row at these offsets.
    void store(const Offsets& at, int64_t first, int64_t n) {
        const auto patch = [&](const View& view, int operand) {
            const int64_t stride = plan_.kept.inner_stride(operand);
            const int64_t offset = at[static_cast<size_t>(operand)] + first * stride;
            return Patch{view.data + offset * view.item_size(), 1, n, 0, stride};
        };
        storer_.store(results_, patch(places_, 1));
        if (values_ != nullptr) value_storer_.store(best_, patch(*values_, 2));
    }

    /// Finds the extreme of each tile, and its index only where no tile before has a better one.
    [[nodiscard]] int64_t row(int64_t offset) {
        const auto extreme_of = best<extreme<kGreatest, T>>();
        const auto find = best<first_of<T>>();
        const int64_t stride = plan_.joined.inner_stride(0);
        T& best = best_[0];
        int64_t index = -1;
        for (int64_t first = 0; first < plan_.count; first += kTile) {
            const int64_t n = std::min(kTile, plan_.count - first);
            const T* x = load(offset + first * stride, n, stride);
            const T top = extreme_of(x, n);
            if (index >= 0 && !is_better<kGreatest>(top, best)) continue;
            best = top;
            index = first + find(x, n, top);
        }
        return index;
    }

    void columns(const Offsets& at) {
        const auto improve_all = best<improve<kGreatest, T, Index>>();
        const int64_t results = plan_.kept.inner_size();
        const int64_t in_stride = plan_.kept.inner_stride(0);
        for (int64_t c = 0; c < results; c += kTile) {
            const int64_t n = std::min(kTile, results - c);
            for (int64_t k = 0; k < plan_.count; ++k) {
                const T* x = load(at[0] + c * in_stride + k * plan_.joined.inner_stride(0), n, in_stride);
                if (k == 0)
                    start(x, n);
                else
                    improve_all(x, n, static_cast<Index>(k), best_, indices_);
            }
            for (int64_t i = 0; i < n; ++i) results_[i] = indices_[i];
            store(at, c, n);
        }
    }

    void start(const T* x, int64_t n) {
        std::copy_n(x, n, best_);
        std::fill_n(indices_, n, Index{0});
    }

    const Reduction& plan_;
    const View places_;
    const View* values_;  ///< null: not wanted
    const View in_;
    Loader loader_;
    Storer storer_, value_storer_;
    Buffers in_buffers_, out_buffers_, value_buffers_;
    int64_t results_[kTile];
    T best_[kTile];
    Index indices_[kTile];
};

/// Shares the results among threads.
template <bool kGreatest, class T, class Index>
void run(const Reduction& plan, const View& places, const View* values, const View& in, Dtype compute) {
    const Nest& kept = plan.kept;
    parallel_for(kept.sizes[0], plan.results / kept.sizes[0] * plan.count, [&](int64_t begin, int64_t end) {
        Reduction part = plan;
        part.kept.sizes[0] = end - begin;
        const auto moved = [&](View view, size_t operand) {
            view.data += begin * kept.strides[operand][0] * view.item_size();
            return view;
        };
        const View own = values != nullptr ? moved(*values, 2) : View();
        const View* own_values = values != nullptr ? &own : nullptr;
        Choice<kGreatest, T, Index>(part, moved(places, 1), own_values, moved(in, 0), compute).run();
    });
}

}  // namespace diopi::cpu::choice

namespace diopi::cpu {

/// places = the numbers of the extremes of input over dims (none: all), values = the extremes; values may be null.
template <bool kGreatest>
diopiError_t choose(diopiContextHandle_t ctx, std::string_view op, const View* values, const View& places, View in,
                    ShapeView dims) {
    if (dims.empty()) {  // the index counts in row-major order
        if (const diopiError_t error = contiguous(ctx, in, in); error != diopiSuccess) return error;
    }
    Reduction plan;
    const diopiError_t error = plan_choice(op, values, places, in, dims, plan);
    if (error != diopiSuccess || places.numel == 0) return error;
    switch (wide(in.dtype)) {
        case Dtype::float64:
            choice::run<kGreatest, double, int64_t>(plan, places, values, in, Dtype::float64);
            break;
        case Dtype::float32:
            choice::run<kGreatest, float, int32_t>(plan, places, values, in, Dtype::float32);
            break;
        default:
            choice::run<kGreatest, int64_t, int64_t>(plan, places, values, in, Dtype::int64);
            break;
    }
    return diopiSuccess;
}

}  // namespace diopi::cpu
