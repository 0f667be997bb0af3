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

/// One row of maxima and their places in the plane.
template <class T>
struct MaxRow {
    std::vector<T> best;
    std::vector<IndexOf<T>> where;

    void start(int64_t size) {
        best.assign(static_cast<size_t>(size), -std::numeric_limits<T>::infinity());
        where.resize(static_cast<size_t>(size));
    }
};

/// The windows of all rows of a plane.
struct Parts {
    std::array<std::vector<Span>, kMostSides> sides;

    explicit Parts(const PoolShape& s) {
        for (size_t d = 0; d < kMostSides; ++d) sides[d] = parts_of(s.in[d], s.out[d]);
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

/// All channels of each window. `row` has out[2] * lanes elements.
template <class T>
void search_channels(const PoolShape& s, const Parts& parts, const T* plane, int64_t z, int64_t y, MaxRow<T>& row) {
    using Index = IndexOf<T>;
    row.start(s.out_row());
    int64_t to = 0;
    for (const Span& columns : parts.sides[2]) {
        bool is_first = true;
        parts.for_each_row(s, z, y, [&](int64_t begin) {
            for (int64_t at = begin + columns.first; at < begin + columns.last; ++at) {
                if (is_first) std::fill_n(row.where.data() + to, s.lanes, static_cast<Index>(at));
                is_first = false;
                join_channels<T, true>(plane + at * s.lanes, static_cast<Index>(at), s.lanes, row.best.data() + to,
                                       row.where.data() + to);
            }
        });
        to += s.lanes;
    }
}

/// Whether the maximum of one column wins over that of those before it: the first place of equals stays, and the last
/// of NaNs.
template <class T>
bool wins_over(T value, IndexOf<T> place, T best, IndexOf<T> where) {
    if (value != value) return best == best || place > where;
    return value > best || (value == best && place < where);
}

/// The windows of planes: `joined` has in[2] elements, `row` out[2].
template <class T>
void search_planes(const PoolShape& s, const Parts& parts, const T* plane, int64_t z, int64_t y, MaxRow<T>& joined,
                   MaxRow<T>& row) {
    using Index = IndexOf<T>;
    joined.start(s.in[2]);
    row.start(s.out[2]);
    bool is_first = true;
    parts.for_each_row(s, z, y, [&](int64_t begin) {
        if (is_first) {
            for (size_t x = 0; x < joined.where.size(); ++x) {
                joined.where[x] = static_cast<Index>(begin) + static_cast<Index>(x);
            }
        }
        is_first = false;
        join_tap<T, true, 1>(plane + begin, 1, static_cast<Index>(begin), s.in[2], joined.best.data(),
                             joined.where.data());
    });
    for (size_t x = 0; x < row.best.size(); ++x) {
        const Span columns = parts.sides[2][x];
        auto at = static_cast<size_t>(columns.first);
        T best = joined.best[at];
        Index where = joined.where[at];
        while (++at < static_cast<size_t>(columns.last)) {
            const bool wins = wins_over(joined.best[at], joined.where[at], best, where);
            best = wins ? joined.best[at] : best;
            where = wins ? joined.where[at] : where;
        }
        row.best[x] = best;
        row.where[x] = where;
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
        thread_local MaxRow<T> joined, row;
        for (int64_t at = first; at < last; ++at) {
            const int64_t n = at / rows, z = at % rows / s.out[1], down = at % s.out[1];
            const T* plane = x + n * s.in_size();
            if (s.lanes > 1) {
                search_channels(s, parts, plane, z, down, row);
            } else {
                search_planes(s, parts, plane, z, down, joined, row);
            }
            std::ranges::copy(row.best, y + at * s.out_row());
            if (places != nullptr) std::ranges::copy(row.where, places + at * s.out_row());
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
