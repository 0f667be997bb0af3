/// Two-dimensional pooling: maxima and adaptive means, over planes or, with the channels last, over rows of channels.
#include <limits>
#include <vector>

#include "core/shape.hpp"
#include "kernels/cpu/conv_window.hpp"
#include "kernels/cpu/index.hpp"
#include "kernels/cpu/onednn_threads.hpp"
#include "kernels/cpu/operators.hpp"

namespace diopi::cpu {

namespace {

/// Planes of `lanes` interleaved channels: (count, height, width, lanes), with lanes = 1 unless the channels are last.
struct PoolShape {
    int64_t count = 0, lanes = 1;
    int64_t height = 0, width = 0, out_height = 0, out_width = 0;
};

PoolShape pool_shape(const Images& in, const Images& out, Layout layout) {
    const bool plain = layout == Layout::plain;
    return {plain ? in.count() * in.channels() : in.count(),
            plain ? 1 : in.channels(),
            in.height(),
            in.width(),
            out.height(),
            out.width()};
}

Layout common_layout(const Images& a, const Images& b) {
    return a.layout() == Layout::channels_last && b.layout() == Layout::channels_last ? Layout::channels_last
                                                                                      : Layout::plain;
}

// ---- maximum ----

template <class T>
using IndexOf = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

/// Joins one tap into the running maxima of `n` places that lie `step` elements apart in the input. A NaN wins over
/// what came before it, the first of equals stays.
template <class T, bool kIndexed, int64_t kStep>
void join_tap(const T* tap, int64_t step, IndexOf<T> index, int64_t n, T* best, IndexOf<T>* where) {
    const int64_t s = kStep == 0 ? step : kStep;
    for (int64_t x = 0; x < n; ++x) {
        const T value = tap[x * s];
        const bool wins = (value > best[x]) | (value != value);
        best[x] = wins ? value : best[x];
        if constexpr (kIndexed) {
            const auto place = static_cast<IndexOf<T>>(index + static_cast<IndexOf<T>>(x * s));
            where[x] = wins ? place : where[x];
        }
    }
}

/// With the channels last: one tap for `n` channels at once.
template <class T, bool kIndexed>
void join_channels(const T* tap, IndexOf<T> index, int64_t n, T* best, IndexOf<T>* where) {
    for (int64_t c = 0; c < n; ++c) {
        const bool wins = (tap[c] > best[c]) | (tap[c] != tap[c]);
        best[c] = wins ? tap[c] : best[c];
        if constexpr (kIndexed) where[c] = wins ? index : where[c];
    }
}

/// One row of windows. `where` gets the place in the plane.
template <class T, bool kIndexed>
void max_row(const PoolShape& s, const Window& w, const T* plane, int64_t y, T* best, IndexOf<T>* where) {
    constexpr T kNone = -std::numeric_limits<T>::infinity();
    using Index = IndexOf<T>;
    const int64_t top = y * w.stride[0] - w.padding[0];
    const Span rows = inside(w.kernel[0], w.dilation[0], top, s.height);
    std::fill_n(best, s.out_width * s.lanes, kNone);
    if constexpr (kIndexed) {
        // Where every element is -inf, the first one of the window counts.
        for (int64_t x = 0; x < s.out_width; ++x) {
            const int64_t left = x * w.stride[1] - w.padding[1];
            const int64_t column = left + inside(w.kernel[1], w.dilation[1], left, s.width).first * w.dilation[1];
            const int64_t first = (top + rows.first * w.dilation[0]) * s.width + column;
            std::fill_n(where + x * s.lanes, s.lanes, static_cast<Index>(first));
        }
    }
    for (int64_t i = rows.first; i < rows.last; ++i) {
        const int64_t row = (top + i * w.dilation[0]) * s.width;
        for (int64_t j = 0; j < w.kernel[1]; ++j) {
            const int64_t offset = j * w.dilation[1] - w.padding[1];
            const Span places = inside(s.out_width, w.stride[1], offset, s.width);
            if (places.first >= places.last) continue;
            const int64_t first = row + places.first * w.stride[1] + offset, n = places.last - places.first;
            if (s.lanes > 1) {
                for (int64_t x = 0; x < n; ++x) {
                    const int64_t at = first + x * w.stride[1], to = (places.first + x) * s.lanes;
                    join_channels<T, kIndexed>(plane + at * s.lanes, static_cast<Index>(at), s.lanes, best + to,
                                               where + to);
                }
                continue;
            }
            const auto join = w.stride[1] == 1   ? join_tap<T, kIndexed, 1>
                              : w.stride[1] == 2 ? join_tap<T, kIndexed, 2>
                                                 : join_tap<T, kIndexed, 0>;
            join(plane + first, w.stride[1], static_cast<Index>(first), n, best + places.first, where + places.first);
        }
    }
}

template <class T, bool kIndexed>
void max_pool(const PoolShape& s, const Window& w, const T* in, T* out, IndexOf<T>* indices) {
    const int64_t row = s.out_width * s.lanes;
    parallel_for(s.count * s.out_height, row * w.kernel[0] * w.kernel[1], [&](int64_t first, int64_t last) {
        for (int64_t at = first; at < last; ++at) {
            const T* plane = in + at / s.out_height * s.height * s.width * s.lanes;
            max_row<T, kIndexed>(s, w, plane, at % s.out_height, out + at * row,
                                 kIndexed ? indices + at * row : indices);
        }
    });
}

diopiError_t read_window(std::string_view op, const View& in, const View& out, diopiSize_t kernel, diopiSize_t stride,
                         diopiSize_t padding, diopiSize_t dilation, bool ceil_mode, Window& window) {
    if (!is_computable(in.dtype)) return unsupported(op, "input", in.dtype, "a floating dtype");
    if (!Images::fits(in)) return wrong_shape(op, "input", in.shape, "(N, C, H, W) or (C, H, W)");
    if (kernel.len == 0) return fail(diopiErrorOccurred, std::string(op) + ": kernel_size is empty");
    window.kernel = pair_of(kernel, {1, 1});
    window.stride = pair_of(stride, window.kernel);
    window.padding = pair_of(padding, {0, 0});
    window.dilation = pair_of(dilation, {1, 1});
    if (!window.sound() || 2 * window.padding[0] > window.extent(0) || 2 * window.padding[1] > window.extent(1)) {
        return fail(diopiErrorOccurred, std::string(op) +
                                            ": wanted kernel sides, strides and dilations of at least 1 and paddings "
                                            "of at most half the dilated kernel");
    }
    Shape wanted(in.shape.begin(), in.shape.end());
    const Images images(in);
    wanted[wanted.size() - 2] = window.places(0, images.height(), ceil_mode);
    wanted[wanted.size() - 1] = window.places(1, images.width(), ceil_mode);
    if (!std::ranges::equal(out.shape, wanted)) return wrong_shape(op, "out", out.shape, to_string(wanted));
    return diopiSuccess;
}

template <class T>
diopiError_t run_max_pool(diopiContextHandle_t ctx, const Window& window, const View& out, const View* indices,
                          const View& input) {
    const Images in(input), result(out);
    const Layout layout = common_layout(in, result);
    const PoolShape s = pool_shape(in, result, layout);
    Staging staging(ctx);
    const auto* x = staging.in<T>(in.view(), layout);
    auto* y = staging.out<T>(result.view(), layout);
    if (indices == nullptr) {
        if (staging.error() != diopiSuccess) return staging.error();
        max_pool<T, false>(s, window, x, y, nullptr);
        return staging.finish();
    }
    if constexpr (sizeof(T) == 4) {
        if (s.height * s.width > std::numeric_limits<int32_t>::max()) {
            return fail(diopiErrorOccurred, "diopiMaxPool2dWithIndices: planes of 2^31 elements or more");
        }
    }
    const Images places(*indices);
    auto* where = staging.out<int64_t>(places.view(), layout);
    auto* narrow = sizeof(T) == 4 ? staging.buffer<IndexOf<T>>(out.numel) : reinterpret_cast<IndexOf<T>*>(where);
    if (staging.error() != diopiSuccess) return staging.error();
    max_pool<T, true>(s, window, x, y, narrow);
    if constexpr (sizeof(T) == 4) std::copy_n(narrow, out.numel, where);
    return staging.finish();
}

diopiError_t max_pool_forward(std::string_view op, diopiContextHandle_t ctx, diopiTensorHandle_t out,
                              diopiTensorHandle_t indices, diopiConstTensorHandle_t input, diopiSize_t kernel,
                              diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation, bool ceil_mode) {
    const View x = view(input), y = view(out);
    Window window;
    const diopiError_t error = read_window(op, x, y, kernel, stride, padding, dilation, ceil_mode, window);
    if (error != diopiSuccess) return error;
    View places;
    if (indices != nullptr) {
        places = view(indices);
        if (!is_index(places.dtype)) return unsupported(op, "indices", places.dtype, "int64 or int32");
        if (!holds_indices(places.dtype, Images(x).area())) {
            return unsupported(op, "indices", places.dtype, "int64 for planes of so many elements");
        }
        if (!std::ranges::equal(places.shape, y.shape)) {
            return wrong_shape(op, "indices", places.shape, to_string(y.shape));
        }
    }
    if (y.numel == 0) return diopiSuccess;
    return (x.dtype == Dtype::float64 ? run_max_pool<double>
                                      : run_max_pool<float>)(ctx, window, y, indices == nullptr ? nullptr : &places, x);
}

/// Adds every element of grad_out where its index points; false when an index lies outside of its plane.
template <class T>
bool scatter_maxima(const PoolShape& s, const T* grad_out, const int64_t* indices, T* grad_in) {
    const int64_t area = s.height * s.width, out_area = s.out_height * s.out_width;
    bool sound = true;
    parallel_for(s.count, (area + out_area) * s.lanes, [&](int64_t first, int64_t last) {
        std::fill_n(grad_in + first * area * s.lanes, (last - first) * area * s.lanes, T{0});
        for (int64_t n = first; n < last; ++n) {
            T* plane = grad_in + n * area * s.lanes;
            const int64_t from = n * out_area * s.lanes;
            for (int64_t i = 0; i < out_area; ++i) {
                for (int64_t c = 0; c < s.lanes; ++c) {
                    const int64_t at = from + i * s.lanes + c, place = indices[at];
                    if (place < 0 || place >= area) {
                        __atomic_store_n(&sound, false, __ATOMIC_RELAXED);
                        return;
                    }
                    plane[place * s.lanes + c] += grad_out[at];
                }
            }
        }
    });
    return sound;
}

template <class T>
diopiError_t run_max_backward(diopiContextHandle_t ctx, const View& grad_input, const View& grad_output,
                              const View& indices) {
    const Images to(grad_input), from(grad_output), places(indices);
    const Layout layout = common_layout(to, from);
    Staging staging(ctx);
    const auto* g = staging.in<T>(from.view(), layout);
    const auto* where = staging.in<int64_t>(places.view(), layout);
    auto* grad = staging.out<T>(to.view(), layout);
    if (staging.error() != diopiSuccess) return staging.error();
    if (!scatter_maxima(pool_shape(to, from, layout), g, where, grad)) {
        return fail(diopiErrorOccurred, "diopiMaxPool2dBackward: indices holds a place outside of the plane of input");
    }
    return staging.finish();
}

// ---- adaptive mean ----

/// Part `i` of `parts` of a side of `size` elements: [floor(i * size / parts), ceil((i + 1) * size / parts)).
Span part_of(int64_t i, int64_t size, int64_t parts) {
    return {i * size / parts, ((i + 1) * size + parts - 1) / parts};
}

/// Sums the rows of a window into one row, then the parts of that row.
template <class T>
void mean_plane(const PoolShape& s, const T* plane, T* out, T* row) {
    const int64_t length = s.width * s.lanes;
    for (int64_t y = 0; y < s.out_height; ++y) {
        const Span rows = part_of(y, s.height, s.out_height);
        std::copy_n(plane + rows.first * length, length, row);
        for (int64_t r = rows.first + 1; r < rows.last; ++r) {
            for (int64_t i = 0; i < length; ++i) row[i] += plane[r * length + i];
        }
        for (int64_t x = 0; x < s.out_width; ++x) {
            const Span columns = part_of(x, s.width, s.out_width);
            const T divisor = static_cast<T>((rows.last - rows.first) * (columns.last - columns.first));
            T* to = out + (y * s.out_width + x) * s.lanes;
            std::copy_n(row + columns.first * s.lanes, s.lanes, to);
            for (int64_t c = columns.first + 1; c < columns.last; ++c) {
                for (int64_t lane = 0; lane < s.lanes; ++lane) to[lane] += row[c * s.lanes + lane];
            }
            for (int64_t lane = 0; lane < s.lanes; ++lane) to[lane] /= divisor;
        }
    }
}

/// The adjoint: spreads each part over a row, then the row over the rows of the window.
template <class T>
void mean_plane_backward(const PoolShape& s, const T* grad_out, T* grad_in, T* row) {
    const int64_t length = s.width * s.lanes;
    std::fill_n(grad_in, s.height * length, T{0});
    for (int64_t y = 0; y < s.out_height; ++y) {
        const Span rows = part_of(y, s.height, s.out_height);
        std::fill_n(row, length, T{0});
        for (int64_t x = 0; x < s.out_width; ++x) {
            const Span columns = part_of(x, s.width, s.out_width);
            const T divisor = static_cast<T>((rows.last - rows.first) * (columns.last - columns.first));
            const T* from = grad_out + (y * s.out_width + x) * s.lanes;
            for (int64_t c = columns.first; c < columns.last; ++c) {
                for (int64_t lane = 0; lane < s.lanes; ++lane) row[c * s.lanes + lane] += from[lane] / divisor;
            }
        }
        for (int64_t r = rows.first; r < rows.last; ++r) {
            for (int64_t i = 0; i < length; ++i) grad_in[r * length + i] += row[i];
        }
    }
}

template <class T>
diopiError_t run_mean(diopiContextHandle_t ctx, const View& to, const View& from, bool is_backward) {
    const Images result(to), source(from);
    const Layout layout = common_layout(result, source);
    const PoolShape s = is_backward ? pool_shape(result, source, layout) : pool_shape(source, result, layout);
    const int64_t plane = s.height * s.width * s.lanes, out_plane = s.out_height * s.out_width * s.lanes;
    const int64_t length = s.width * s.lanes;
    Staging staging(ctx);
    const auto* x = staging.in<T>(source.view(), layout);
    auto* y = staging.out<T>(result.view(), layout);
    if (staging.error() != diopiSuccess) return staging.error();
    parallel_for(s.count, plane, [&](int64_t first, int64_t last) {
        thread_local std::vector<T> space;
        space.resize(static_cast<size_t>(length));
        T* row = space.data();
        for (int64_t n = first; n < last; ++n) {
            if (is_backward) {
                mean_plane_backward(s, x + n * out_plane, y + n * plane, row);
            } else {
                mean_plane(s, x + n * plane, y + n * out_plane, row);
            }
        }
    });
    return staging.finish();
}

}  // namespace

diopiError_t diopiMaxPool2d(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                            diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation,
                            bool ceil_mode) {
    return max_pool_forward("diopiMaxPool2d", ctx, out, nullptr, input, kernel_size, stride, padding, dilation,
                            ceil_mode);
}

diopiError_t diopiMaxPool2dWithIndices(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiTensorHandle_t indices,
                                       diopiConstTensorHandle_t input, diopiSize_t kernel_size, diopiSize_t stride,
                                       diopiSize_t padding, diopiSize_t dilation, bool ceil_mode) {
    return max_pool_forward("diopiMaxPool2dWithIndices", ctx, out, indices, input, kernel_size, stride, padding,
                            dilation, ceil_mode);
}

diopiError_t diopiMaxPool2dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                    diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding,
                                    diopiSize_t dilation, bool ceil_mode, diopiConstTensorHandle_t indices) {
    constexpr std::string_view kOp = "diopiMaxPool2dBackward";
    if (grad_input == nullptr) return diopiSuccess;
    const View grad = view(grad_input), g = view(grad_output), places = view(indices);
    Window window;
    const diopiError_t error =
        read_window(kOp, view(input), g, kernel_size, stride, padding, dilation, ceil_mode, window);
    if (error != diopiSuccess) return error;
    if (!is_index(places.dtype)) return unsupported(kOp, "indices", places.dtype, "int64 or int32");
    if (!std::ranges::equal(grad.shape, view(input).shape)) {
        return wrong_shape(kOp, "grad_input", grad.shape, "that of input");
    }
    if (!std::ranges::equal(places.shape, g.shape))
        return wrong_shape(kOp, "indices", places.shape, to_string(g.shape));
    if (grad.numel == 0) return diopiSuccess;
    return (grad.dtype == Dtype::float64 ? run_max_backward<double> : run_max_backward<float>)(ctx, grad, g, places);
}

diopiError_t diopiAdaptiveAvgPool2d(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                    diopiSize_t output_size) {
    constexpr std::string_view kOp = "diopiAdaptiveAvgPool2d";
    const View x = view(input), y = view(out);
    if (!is_computable(x.dtype)) return unsupported(kOp, "input", x.dtype, "a floating dtype");
    if (!Images::fits(x)) return wrong_shape(kOp, "input", x.shape, "(N, C, H, W) or (C, H, W)");
    const Images images(x);
    const Pair sides = pair_of(output_size, {images.height(), images.width()});
    Shape wanted(x.shape.begin(), x.shape.end());
    wanted[wanted.size() - 2] = sides[0];
    wanted[wanted.size() - 1] = sides[1];
    if (!std::ranges::equal(y.shape, wanted)) return wrong_shape(kOp, "out", y.shape, to_string(wanted));
    if (y.numel == 0) return diopiSuccess;
    if (images.area() == 0) return wrong_shape(kOp, "input", x.shape, "sides of at least 1");
    return (x.dtype == Dtype::float64 ? run_mean<double> : run_mean<float>)(ctx, y, x, false);
}

diopiError_t diopiAdaptiveAvgPool2dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                            diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input) {
    constexpr std::string_view kOp = "diopiAdaptiveAvgPool2dBackward";
    const View grad = view(grad_input), g = view(grad_output);
    if (!is_computable(g.dtype)) return unsupported(kOp, "grad_output", g.dtype, "a floating dtype");
    if (!Images::fits(grad) || !std::ranges::equal(grad.shape, view(input).shape)) {
        return wrong_shape(kOp, "grad_input", grad.shape, "that of input");
    }
    const auto outer = grad.shape.size() - 2;
    if (g.rank() != grad.rank() || !std::ranges::equal(g.shape.first(outer), grad.shape.first(outer))) {
        return wrong_shape(kOp, "grad_output", g.shape, "the outer dimensions of input");
    }
    if (grad.numel == 0) return diopiSuccess;
    if (g.numel == 0) return fill(ctx, grad, 0);
    return (grad.dtype == Dtype::float64 ? run_mean<double> : run_mean<float>)(ctx, grad, g, true);
}

}  // namespace diopi::cpu
