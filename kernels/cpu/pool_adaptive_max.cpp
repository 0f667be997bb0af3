/// Maxima over adaptive windows. With the channels last, each window joins its elements, all channels at once. Else the
/// rows of a row of windows are joined into one row first, whose parts are then searched.
#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/pool.hpp"
#include "kernels/cpu/pool_maxima.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

/// The windows of all rows of a plane.
struct Parts {
    std::array<std::vector<Span>, kMostSides> sides;

    explicit Parts(const PoolShape& s) {
        for (size_t d = 0; d < kMostSides; ++d) sides[d] = parts_of(s.in[d], s.out[d]);
    }
    /// The number of input rows under the windows of one output row.
    [[nodiscard]] int64_t count_rows(int64_t z, int64_t y) const {
        const Span layers = sides[0][static_cast<size_t>(z)], rows = sides[1][static_cast<size_t>(y)];
        return (layers.last - layers.first) * (rows.last - rows.first);
    }
    /// The place in the plane at which the first of them begins.
    [[nodiscard]] int64_t first_row(const PoolShape& s, int64_t z, int64_t y) const {
        return (sides[0][static_cast<size_t>(z)].first * s.in[1] + sides[1][static_cast<size_t>(y)].first) * s.in[2];
    }
    /// Calls visit(place in the plane at which the row begins) for each input row under the windows of one output row.
    template <class Visit>
    void for_each_row(const PoolShape& s, int64_t z, int64_t y, Visit&& visit) const {
        const Span layers = sides[0][static_cast<size_t>(z)], rows = sides[1][static_cast<size_t>(y)];
        for (int64_t deep = layers.first; deep < layers.last; ++deep) {
            for (int64_t down = rows.first; down < rows.last; ++down) visit((deep * s.in[1] + down) * s.in[2]);
        }
    }
};

/// All channels of each window.
template <class T>
void search_channels(const PoolShape& s, const Parts& parts, const T* plane, int64_t z, int64_t y, T* best,
                     IndexOf<T>* where) {
    using Index = IndexOf<T>;
    std::fill_n(best, s.out_row(), -std::numeric_limits<T>::infinity());
    for (const Span& columns : parts.sides[2]) {
        const int64_t first = parts.first_row(s, z, y) + columns.first;
        std::fill_n(where, s.lanes, static_cast<Index>(first));
        parts.for_each_row(s, z, y, [&](int64_t begin) {
            for (int64_t at = begin + columns.first; at < begin + columns.last; ++at) {
                join_channels<T, true>(plane + at * s.lanes, static_cast<Index>(at), s.lanes, best, where);
            }
        });
        best += s.lanes, where += s.lanes;
    }
}

/// The windows of a plane: in the only row, or in the maxima of each column.
template <class T>
void search_plane(const PoolShape& s, const Parts& parts, const T* plane, int64_t z, int64_t y, T* best,
                  IndexOf<T>* where) {
    thread_local ColumnMaxima<T> joined;
    const int64_t first = parts.first_row(s, z, y);
    const bool is_one = parts.count_rows(z, y) == 1;
    if (!is_one) {
        joined.start(plane, first, s.in[2]);
        parts.for_each_row(s, z, y, [&](int64_t begin) {
            if (begin != first) joined.join(plane, begin);
        });
    }
    for (const Span& columns : parts.sides[2]) {
        const Maximum<T> most = is_one ? search_columns(plane, first, columns.first, columns.last, 1)
                                       : joined.search(columns.first, columns.last, 1);
        *best++ = most.value;
        *where++ = most.place;
    }
}

template <class T>
diopiError_t run_adaptive_max(diopiContextHandle_t ctx, const PoolImages& p) {
    const Layout layout = common_layout(p.in, p.out);
    const PoolShape s = pool_shape(p.in, p.out, layout);
    Staging staging(ctx);
    const auto* x = staging.in<T>(p.in.view(), layout);
    auto* y = staging.out<T>(p.out.view(), layout);
    auto* places = p.indices.data == nullptr ? nullptr : staging.out<int64_t>(p.indices.view(), layout);
    if (staging.error() != diopiSuccess) return staging.error();
    const int64_t rows = s.out[0] * s.out[1];
    const Parts parts(s);
    parallel_for(s.count * rows, s.in_size() / rows, [&](int64_t first, int64_t last) {
        std::vector<IndexOf<T>> where(static_cast<size_t>(s.out_row()));
        const auto search = s.lanes > 1 ? search_channels<T> : search_plane<T>;
        for (int64_t at = first; at < last; ++at) {
            const int64_t n = at / rows, z = (at - n * rows) / s.out[1], down = at - n * rows - z * s.out[1];
            search(s, parts, x + n * s.in_size(), z, down, y + at * s.out_row(), where.data());
            if (places != nullptr) std::ranges::copy(where, places + at * s.out_row());
        }
    });
    return staging.finish();
}

}  // namespace

diopiError_t adaptive_max_pool_with_indices(diopiContextHandle_t ctx, std::string_view op, size_t sides,
                                            diopiTensorHandle_t out, diopiTensorHandle_t indices,
                                            diopiConstTensorHandle_t input, diopiSize_t output_size) {
    const View places = indices == nullptr ? View{} : view(indices);
    PoolImages p;
    const diopiError_t error =
        read_adaptive_max(op, sides, view(out), indices == nullptr ? nullptr : &places, view(input), output_size, p);
    if (error != diopiSuccess || p.out.numel() == 0) return error;
    const bool is_narrow = p.in.dtype != Dtype::float64;
    if (is_narrow && p.in.area() > std::numeric_limits<int32_t>::max()) {
        return refuse(op, "planes of 2^31 elements or more");
    }
    return (is_narrow ? run_adaptive_max<float> : run_adaptive_max<double>)(ctx, p);
}

diopiError_t adaptive_max_pool_backward(diopiContextHandle_t ctx, std::string_view op, size_t sides,
                                        diopiTensorHandle_t grad_input, diopiConstTensorHandle_t grad_output,
                                        diopiConstTensorHandle_t input, diopiConstTensorHandle_t indices) {
    PoolImages p;
    const diopiError_t error =
        read_adaptive_max_backward(op, sides, view(grad_input), view(grad_output), view(input), view(indices), p);
    if (error != diopiSuccess || p.in.numel() == 0) return error;
    return add_at_maxima(ctx, op, p);
}

#include "kernels/entries/pool_adaptive_max.inc"

}  // namespace diopi::cpu
