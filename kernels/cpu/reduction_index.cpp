/// argmax: the index of the greatest element. Among equal ones it is the first; NaN is greater than all.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/patch.hpp"
#include "kernels/cpu/tile.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/reduction.hpp"

namespace diopi::cpu {

namespace {

constexpr int64_t kLanes = 32;

template <class T>
bool is_nan(T x) {
    return x != x;
}

/// Partial results of a row, and whether a lane has met a NaN, which no comparison selects.
template <class T>
struct Lanes {
    using Mask = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    T top[kLanes];
    Mask nan[kLanes] = {};

    explicit Lanes(T first) { std::fill_n(top, kLanes, first); }
    void join(int64_t lane, T x, Mask x_nan) {
        top[lane] = x > top[lane] ? x : top[lane];
        nan[lane] |= x_nan;
    }
};

/// The greatest of n >= 1 elements, NaN if there is one.
template <class T>
T greatest(const T* x, int64_t n) {
    Lanes<T> lanes(x[0]);
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
        typename Lanes<T>::Mask found = 0;
        for (int64_t l = 0; l < kLanes; ++l) found |= x[i + l] == top ? 1 : 0;
        if (found != 0) break;
    }
    return std::find_if(x + i, x + n, fits) - x;
}

/// Whether x takes the place of an earlier `best`.
template <class T>
bool is_better(T x, T best) {
    return x > best || (is_nan(x) && !is_nan(best));
}

/// T: the type of the input's tiles; Index: as wide as T, for loops across results.
template <class T, class Index>
class ArgMax {
 public:
    ArgMax(const Reduction& plan, const View& out, const View& in, Dtype compute) : plan_(plan), out_(out), in_(in) {
        loader_.init(in.dtype, compute, in_buffers_);
        storer_.init(out.dtype, Dtype::int64, out_buffers_);
    }

    void run() {
        const bool index_fits = plan_.count <= std::numeric_limits<Index>::max();
        if (plan_.runs_across_results() && index_fits) {
            for_each_outer(plan_.kept, 1, [this](const auto& at) { columns(at[0], at[1]); });
        } else {
            for_each_outer(plan_.kept, 0, [this](const auto& at) {
                results_[0] = row(at[0]);
                store(at[1], 1, 0);
            });
        }
    }

 private:
    [[nodiscard]] const T* load(int64_t offset, int64_t n, int64_t stride) {
        return static_cast<const T*>(loader_.load({in_.data + offset * in_.item_size(), 1, n, 0, stride}));
    }

    void store(int64_t offset, int64_t n, int64_t stride) {
        storer_.store(results_, {out_.data + offset * out_.item_size(), 1, n, 0, stride});
    }

    /// Finds the greatest element of each tile, and its index only where no tile before has a greater one.
    [[nodiscard]] int64_t row(int64_t offset) {
        const int64_t stride = plan_.joined.inner_stride(0);
        T best{};
        int64_t index = -1;
        for (int64_t first = 0; first < plan_.count; first += kTile) {
            const int64_t n = std::min(kTile, plan_.count - first);
            const T* x = load(offset + first * stride, n, stride);
            const T top = greatest(x, n);
            if (index >= 0 && !is_better(top, best)) continue;
            best = top;
            index = first + first_of(x, n, top);
        }
        return index;
    }

    void columns(int64_t in, int64_t out) {
        const int64_t results = plan_.kept.inner_size();
        const int64_t in_stride = plan_.kept.inner_stride(0);
        const int64_t out_stride = plan_.kept.inner_stride(1);
        for (int64_t c = 0; c < results; c += kTile) {
            const int64_t n = std::min(kTile, results - c);
            for (int64_t k = 0; k < plan_.count; ++k) {
                const T* x = load(in + c * in_stride + k * plan_.joined.inner_stride(0), n, in_stride);
                k == 0 ? start(x, n) : improve(x, n, static_cast<Index>(k));
            }
            for (int64_t i = 0; i < n; ++i) results_[i] = indices_[i];
            store(out + c * out_stride, n, out_stride);
        }
    }

    void start(const T* x, int64_t n) {
        std::copy_n(x, n, best_);
        std::fill_n(indices_, n, Index{0});
    }

    void improve(const T* x, int64_t n, Index k) {
        for (int64_t i = 0; i < n; ++i) {
            const bool better = (x[i] > best_[i]) | (is_nan(x[i]) & !is_nan(best_[i]));
            best_[i] = better ? x[i] : best_[i];
            indices_[i] = better ? k : indices_[i];
        }
    }

    const Reduction& plan_;
    const View out_, in_;
    Loader loader_;
    Storer storer_;
    Buffers in_buffers_, out_buffers_;
    int64_t results_[kTile];
    T best_[kTile];
    Index indices_[kTile];
};

diopiError_t argmax(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                    diopiConstTensorHandle_t input, const int64_t* dim, bool) {
    const View to = view(out);
    View in = view(input);
    if (const diopiError_t error = check_argmax(op, to, in); error != diopiSuccess) return error;
    if (dim == nullptr) {  // the index counts in row-major order
        if (const diopiError_t error = contiguous(ctx, in, in); error != diopiSuccess) return error;
    }
    Reduction plan;
    const diopiError_t error = plan_argmax(op, to, in, dim, plan);
    if (error != diopiSuccess || to.numel == 0) return error;
    switch (wide(in.dtype)) {
        case Dtype::float64:
            ArgMax<double, int64_t>(plan, to, in, Dtype::float64).run();
            break;
        case Dtype::float32:
            ArgMax<float, int32_t>(plan, to, in, Dtype::float32).run();
            break;
        default:
            ArgMax<int64_t, int64_t>(plan, to, in, Dtype::int64).run();
            break;
    }
    return diopiSuccess;
}

}  // namespace

#include "kernels/entries/reduction_index.inc"

}  // namespace diopi::cpu
