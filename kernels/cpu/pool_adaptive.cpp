/// Means over adaptive windows, of planes or, with the channels last, of rows of channels.
#include "kernels/cpu/pool.hpp"

#include <algorithm>
#include <vector>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/pool_planes.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/pool.hpp"

namespace diopi::cpu {

namespace {

/// Part `i` of `parts` of a side of `size` elements: [floor(i * size / parts), ceil((i + 1) * size / parts)).
Span part_of(int64_t i, int64_t size, int64_t parts) {
    return {i * size / parts, ((i + 1) * size + parts - 1) / parts};
}

/// The parts of the depth and the height that one row of windows covers.
struct RowParts {
    Span layers, rows;

    RowParts(const PoolShape& s, int64_t z, int64_t y)
        : layers(part_of(z, s.in[0], s.out[0])), rows(part_of(y, s.in[1], s.out[1])) {}

    [[nodiscard]] int64_t count() const { return (layers.last - layers.first) * (rows.last - rows.first); }
    /// Calls visit(number of the input row) for each row of the windows.
    template <class Visit>
    void for_each_row(const PoolShape& s, Visit&& visit) const {
        for (int64_t z = layers.first; z < layers.last; ++z) {
            for (int64_t y = rows.first; y < rows.last; ++y) visit(z * s.in[1] + y);
        }
    }
};

/// Sums the rows of a window into one row, then the parts of that row.
template <class T>
void mean_row(const PoolShape& s, const RowParts& parts, const T* plane, T* out, T* row) {
    const int64_t length = s.in[2] * s.lanes;
    bool is_first = true;
    parts.for_each_row(s, [&](int64_t r) {
        const T* from = plane + r * length;
        if (is_first) {
            std::copy_n(from, length, row);
        } else {
            for (int64_t i = 0; i < length; ++i) row[i] += from[i];
        }
        is_first = false;
    });
    for (int64_t x = 0; x < s.out[2]; ++x) {
        const Span columns = part_of(x, s.in[2], s.out[2]);
        const T divisor = static_cast<T>(parts.count() * (columns.last - columns.first));
        T* to = out + x * s.lanes;
        std::copy_n(row + columns.first * s.lanes, s.lanes, to);
        for (int64_t c = columns.first + 1; c < columns.last; ++c) {
            for (int64_t lane = 0; lane < s.lanes; ++lane) to[lane] += row[c * s.lanes + lane];
        }
        for (int64_t lane = 0; lane < s.lanes; ++lane) to[lane] /= divisor;
    }
}

/// The adjoint: spreads each part over a row, then adds the row to the rows of the window.
template <class T>
void mean_row_backward(const PoolShape& s, const RowParts& parts, T* plane, const T* grad_out, T* row) {
    const int64_t length = s.in[2] * s.lanes;
    std::fill_n(row, length, T{0});
    for (int64_t x = 0; x < s.out[2]; ++x) {
        const Span columns = part_of(x, s.in[2], s.out[2]);
        const T divisor = static_cast<T>(parts.count() * (columns.last - columns.first));
        const T* from = grad_out + x * s.lanes;
        for (int64_t c = columns.first; c < columns.last; ++c) {
            for (int64_t lane = 0; lane < s.lanes; ++lane) row[c * s.lanes + lane] += from[lane] / divisor;
        }
    }
    parts.for_each_row(s, [&](int64_t r) {
        for (int64_t i = 0; i < length; ++i) plane[r * length + i] += row[i];
    });
}

/// Calls body(image, parts, offset of the row in the output, a row of workspace) for each row of windows of the images
/// in [first, last).
template <class T, class Body>
void for_each_mean_row(const PoolShape& s, int64_t first, int64_t last, Body&& body) {
    thread_local std::vector<T> row;
    row.resize(static_cast<size_t>(s.in[2] * s.lanes));
    for (int64_t n = first; n < last; ++n) {
        int64_t at = n * s.out_size();
        for (int64_t z = 0; z < s.out[0]; ++z) {
            for (int64_t y = 0; y < s.out[1]; ++y, at += s.out_row()) body(n, RowParts(s, z, y), at, row.data());
        }
    }
}

template <class T>
diopiError_t run_mean(diopiContextHandle_t ctx, const PoolImages& p, bool is_backward) {
    const Layout layout = common_layout(p.in, p.out);
    const PoolShape s = pool_shape(p.in, p.out, layout);
    const int64_t plane = s.in_size();
    Staging staging(ctx);
    const auto* x = staging.in<T>((is_backward ? p.out : p.in).view(), layout);
    auto* y = staging.out<T>((is_backward ? p.in : p.out).view(), layout);
    if (staging.error() != diopiSuccess) return staging.error();
    parallel_for(s.count, plane, [&](int64_t first, int64_t last) {
        if (is_backward) {
            std::fill_n(y + first * plane, (last - first) * plane, T{0});
            for_each_mean_row<T>(s, first, last, [&](int64_t n, const RowParts& parts, int64_t at, T* row) {
                mean_row_backward(s, parts, y + n * plane, x + at, row);
            });
        } else {
            for_each_mean_row<T>(s, first, last, [&](int64_t n, const RowParts& parts, int64_t at, T* row) {
                mean_row(s, parts, x + n * plane, y + at, row);
            });
        }
    });
    return staging.finish();
}

}  // namespace

diopiError_t adaptive_avg_pool(diopiContextHandle_t ctx, std::string_view op, size_t sides, diopiTensorHandle_t out,
                               diopiConstTensorHandle_t input, diopiSize_t output_size) {
    PoolImages p;
    const diopiError_t error = read_adaptive_pool(op, sides, view(out), view(input), output_size, p);
    if (error != diopiSuccess || p.out.numel() == 0) return error;
    return (p.in.dtype == Dtype::float64 ? run_mean<double> : run_mean<float>)(ctx, p, false);
}

diopiError_t adaptive_avg_pool_backward(diopiContextHandle_t ctx, std::string_view op, size_t sides,
                                        diopiTensorHandle_t grad_input, diopiConstTensorHandle_t grad_output,
                                        diopiConstTensorHandle_t input) {
    PoolImages p;
    const diopiError_t error =
        read_adaptive_pool_backward(op, sides, view(grad_input), view(grad_output), view(input), p);
    if (error != diopiSuccess || p.in.numel() == 0) return error;
    if (p.out.numel() == 0) {
        fill({grad_input}, 0);
        return diopiSuccess;
    }
    return (p.in.dtype == Dtype::float64 ? run_mean<double> : run_mean<float>)(ctx, p, true);
}

#include "kernels/entries/pool_adaptive.inc"

}  // namespace diopi::cpu
