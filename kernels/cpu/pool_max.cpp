/// Maxima over windows, of planes or, with the channels last, of rows of channels.
#include "kernels/cpu/pool.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/pool_maxima.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/pool.hpp"

namespace diopi::cpu {

namespace {

/// The place of the windows of one output row: the input row and layer of their first tap, which may lie outside, and
/// the taps that lie inside.
struct RowWindow {
    int64_t layer, row;
    Span layers, rows;

    RowWindow(const PoolShape& s, const Window& w, int64_t z, int64_t y)
        : layer(z * w.stride[0] - w.padding[0]),
          row(y * w.stride[1] - w.padding[1]),
          layers(inside(w.kernel[0], w.dilation[0], layer, s.in[0])),
          rows(inside(w.kernel[1], w.dilation[1], row, s.in[1])) {}

    /// The place in the plane where the row begins that taps `deep` and `down` read.
    [[nodiscard]] int64_t place(const PoolShape& s, const Window& w, int64_t deep, int64_t down) const {
        return ((layer + deep * w.dilation[0]) * s.in[1] + row + down * w.dilation[1]) * s.in[2];
    }
};

/// The columns of all rows of windows. They are computed once, as the rows are: small rows take less time than the
/// divisions.
struct RowColumns {
    std::vector<Span> places;    ///< for each tap: the windows in which it lies inside
    std::vector<int64_t> first;  ///< for each window: the column of its first tap that lies inside
    std::vector<int64_t> count;  ///< and the number of these taps

    RowColumns(const PoolShape& s, const Window& w)
        : places(static_cast<size_t>(w.kernel[2])),
          first(static_cast<size_t>(s.out[2])),
          count(static_cast<size_t>(s.out[2])) {
        const int64_t stride = w.stride[2], step = w.dilation[2];
        for (size_t right = 0; right < places.size(); ++right) {
            places[right] = inside(s.out[2], stride, static_cast<int64_t>(right) * step - w.padding[2], s.in[2]);
        }
        for (size_t x = 0; x < first.size(); ++x) {
            const int64_t left = static_cast<int64_t>(x) * stride - w.padding[2];
            const Span taps = inside(w.kernel[2], step, left, s.in[2]);
            first[x] = left + taps.first * step;
            count[x] = taps.last - taps.first;
        }
    }
};

/// Joins tap `right` of the input row that begins at `row` into one row of maxima, in the windows `places`.
template <class T, bool kIndexed>
void join_row(const PoolShape& s, const Window& w, Span places, const T* plane, int64_t row, int64_t right, T* best,
              IndexOf<T>* where) {
    using Index = IndexOf<T>;
    const int64_t stride = w.stride[2], offset = right * w.dilation[2] - w.padding[2];
    if (places.first >= places.last) return;
    const int64_t first = row + places.first * stride + offset, n = places.last - places.first;
    if (s.lanes > 1) {
        for (int64_t x = 0; x < n; ++x) {
            const int64_t at = first + x * stride, to = (places.first + x) * s.lanes;
            join_channels<T, kIndexed>(plane + at * s.lanes, static_cast<Index>(at), s.lanes, best + to, where + to);
        }
        return;
    }
    const auto join = stride == 1   ? join_tap<T, kIndexed, 1>
                      : stride == 2 ? join_tap<T, kIndexed, 2>
                                    : join_tap<T, kIndexed, 0>;
    join(plane + first, stride, static_cast<Index>(first), n, best + places.first, where + places.first);
}

/// Rows of at most so many windows are searched one window after the other: the loop over the windows of a tap takes
/// longer to start than to run (AMD EPYC, Zen 5).
constexpr int64_t kFewWindows = 8;

/// Searches the windows of one row one after the other, in the maxima of each column where they have several rows.
template <class T, bool kIndexed>
void search_row(const PoolShape& s, const Window& w, const RowColumns& columns, const RowWindow& at, const T* plane,
                T* best, IndexOf<T>* where) {
    thread_local ColumnMaxima<T> joined;
    const int64_t count = (at.layers.last - at.layers.first) * (at.rows.last - at.rows.first);
    if (count <= 0) return;
    const int64_t begin = at.place(s, w, at.layers.first, at.rows.first);
    if (count > 1) {
        joined.start(plane, begin, s.in[2]);
        for (int64_t deep = at.layers.first; deep < at.layers.last; ++deep) {
            for (int64_t down = at.rows.first; down < at.rows.last; ++down) {
                const int64_t row = at.place(s, w, deep, down);
                if (row != begin) joined.join(plane, row);
            }
        }
    }
    for (size_t x = 0; x < columns.first.size(); ++x) {
        if (columns.count[x] == 0) continue;
        const int64_t first = columns.first[x], step = w.dilation[2], last = first + columns.count[x] * step;
        const Maximum<T> most =
            count > 1 ? joined.search(first, last, step) : search_columns(plane, begin, first, last, step);
        best[x] = most.value;
        if constexpr (kIndexed) where[x] = most.place;
    }
}

/// One row of windows. `where` gets the place in the plane.
template <class T, bool kIndexed>
void max_row(const PoolShape& s, const Window& w, const RowColumns& columns, const RowWindow& at, const T* plane,
             T* best, IndexOf<T>* where) {
    std::fill_n(best, s.out_row(), -std::numeric_limits<T>::infinity());
    if constexpr (kIndexed) {
        // Where every element is -inf, the first one of the window is the maximum.
        const int64_t row = at.place(s, w, at.layers.first, at.rows.first);
        for (int64_t x = 0; x < s.out[2]; ++x) {
            std::fill_n(where + x * s.lanes, s.lanes,
                        static_cast<IndexOf<T>>(row + columns.first[static_cast<size_t>(x)]));
        }
    }
    if (s.lanes == 1 && s.out[2] <= kFewWindows) {
        return search_row<T, kIndexed>(s, w, columns, at, plane, best, where);
    }
    for (int64_t deep = at.layers.first; deep < at.layers.last; ++deep) {
        for (int64_t down = at.rows.first; down < at.rows.last; ++down) {
            const int64_t row = at.place(s, w, deep, down);
            for (int64_t right = 0; right < w.kernel[2]; ++right) {
                join_row<T, kIndexed>(s, w, columns.places[static_cast<size_t>(right)], plane, row, right, best, where);
            }
        }
    }
}

template <class T, bool kIndexed>
void max_rows(const PoolShape& s, const Window& w, const T* in, T* out, IndexOf<T>* indices) {
    const int64_t row = s.out_row(), rows = s.out[0] * s.out[1];
    const RowColumns columns(s, w);
    std::vector<RowWindow> windows;
    windows.reserve(static_cast<size_t>(rows));
    for (int64_t z = 0; z < s.out[0]; ++z) {
        for (int64_t y = 0; y < s.out[1]; ++y) windows.emplace_back(s, w, z, y);
    }
    parallel_for(s.count * rows, row * w.taps(), [&](int64_t first, int64_t last) {
        for (int64_t at = first; at < last; ++at) {
            const int64_t n = at / rows;
            max_row<T, kIndexed>(s, w, columns, windows[static_cast<size_t>(at - n * rows)], in + n * s.in_size(),
                                 out + at * row, kIndexed ? indices + at * row : indices);
        }
    });
}

template <class T>
diopiError_t run_max_pool(diopiContextHandle_t ctx, std::string_view op, const PoolImages& p) {
    const Layout layout = common_layout(p.in, p.out);
    const PoolShape s = pool_shape(p.in, p.out, layout);
    Staging staging(ctx);
    const auto* x = staging.in<T>(p.in.view(), layout);
    auto* y = staging.out<T>(p.out.view(), layout);
    if (p.indices.data == nullptr) {
        if (staging.error() != diopiSuccess) return staging.error();
        max_rows<T, false>(s, p.window, x, y, nullptr);
        return staging.finish();
    }
    if constexpr (sizeof(T) == 4) {
        if (p.in.area() > std::numeric_limits<int32_t>::max()) {
            return fail(diopiErrorOccurred, std::string(op) + ": planes of 2^31 elements or more");
        }
    }
    auto* where = staging.out<int64_t>(p.indices.view(), layout);
    auto* narrow = sizeof(T) == 4 ? staging.buffer<IndexOf<T>>(p.out.numel()) : reinterpret_cast<IndexOf<T>*>(where);
    if (staging.error() != diopiSuccess) return staging.error();
    max_rows<T, true>(s, p.window, x, y, narrow);
    if constexpr (sizeof(T) == 4) std::copy_n(narrow, p.out.numel(), where);
    return staging.finish();
}

}  // namespace

diopiError_t max_pool_with_indices(diopiContextHandle_t ctx, std::string_view op, size_t sides, diopiTensorHandle_t out,
                                   diopiTensorHandle_t indices, diopiConstTensorHandle_t input, diopiSize_t kernel_size,
                                   diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation, bool ceil_mode) {
    const View places = indices == nullptr ? View{} : view(indices);
    PoolImages p;
    const diopiError_t error = read_max_pool(op, sides, view(out), indices == nullptr ? nullptr : &places, view(input),
                                             {kernel_size, stride, padding, dilation, ceil_mode}, p);
    if (error != diopiSuccess || p.out.numel() == 0) return error;
    return (p.in.dtype == Dtype::float64 ? run_max_pool<double> : run_max_pool<float>)(ctx, op, p);
}

diopiError_t max_pool_backward(diopiContextHandle_t ctx, std::string_view op, size_t sides,
                               diopiTensorHandle_t grad_input, diopiConstTensorHandle_t grad_output,
                               diopiConstTensorHandle_t input, diopiSize_t kernel_size, diopiSize_t stride,
                               diopiSize_t padding, diopiSize_t dilation, bool ceil_mode,
                               diopiConstTensorHandle_t indices) {
    if (grad_input == nullptr) return diopiSuccess;
    PoolImages p;
    const diopiError_t error =
        read_max_pool_backward(op, sides, view(grad_input), view(grad_output), view(input), view(indices),
                               {kernel_size, stride, padding, dilation, ceil_mode}, p);
    if (error != diopiSuccess || p.in.numel() == 0) return error;
    return add_at_maxima(ctx, op, p);
}

#include "kernels/entries/pool_max.inc"

}  // namespace diopi::cpu
