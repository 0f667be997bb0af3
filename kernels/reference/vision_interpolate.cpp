/// Images of other sizes; all dimensions behind the first two are sides. A plane has a depth, a height and a width;
/// where an image has fewer sides, the first ones have one element.
#include <algorithm>
#include <string>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/sides.hpp"
#include "kernels/reference/vision_taps.hpp"

namespace diopi::reference {

namespace {

constexpr size_t kMost = 3;
using Extent = std::array<int64_t, kMost>;

int64_t area_of(const Extent& sides) { return sides[0] * sides[1] * sides[2]; }

/// The images in both sizes.
struct Resizing {
    int64_t planes = 0;
    size_t sides = 0;
    Extent in{1, 1, 1}, out{1, 1, 1};

    Resizing(ShapeView input, ShapeView output, diopiSize_t size) {
        if (input.size() < 3 || input.size() > 2 + kMost) {
            refuse("the image has shape " + to_string(input) + ", wanted (N, C, *) with one to three sides");
        }
        sides = input.size() - 2;
        const Shape wanted_sides = numbers_of(sides, size, "size");
        Shape wanted(input.begin(), input.begin() + 2);
        wanted.insert(wanted.end(), wanted_sides.begin(), wanted_sides.end());
        require_shape("the resized image", output, wanted);
        planes = input[0] * input[1];
        std::ranges::copy(input.last(sides), in.end() - static_cast<std::ptrdiff_t>(sides));
        std::ranges::copy(output.last(sides), out.end() - static_cast<std::ptrdiff_t>(sides));
        for (size_t d = 0; d < kMost; ++d) {
            if (in[d] < 1 || out[d] < 1) refuse("the image has a side of 0, wanted at least 1");
        }
    }
};

template <class T>
using SideTaps = std::array<std::vector<Taps<T>>, kMost>;

/// One tap: the element at floor(i * in / out), in float32 as in PyTorch, whatever the dtype.
template <class T>
SideTaps<T> nearest_taps(const Resizing& r) {
    SideTaps<T> taps;
    for (size_t d = 0; d < kMost; ++d) {
        const float part = static_cast<float>(r.in[d]) / static_cast<float>(r.out[d]);
        for (int64_t i = 0; i < r.out[d]; ++i) {
            const auto at = static_cast<int64_t>(std::floor(static_cast<float>(i) * part));
            taps[d].push_back({{std::min(at, r.in[d] - 1), T(1)}});
        }
    }
    return taps;
}

/// align_corners: i * (in - 1) / (out - 1); else (i + 1/2) * in / out - 1/2, in the linear modes at least 0.
template <class T>
T source(int64_t i, int64_t in, int64_t out, bool align_corners, bool is_cubic) {
    const auto number = [](auto x) { return T(static_cast<double>(x)); };
    if (align_corners) return out > 1 ? number(i) * (number(in - 1) / number(out - 1)) : T(0);
    const T position = (number(i) + T(0.5)) * (number(in) / number(out)) - T(0.5);
    if (is_cubic || value_of(position) >= 0) return position;
    return with_error(T(0), 0, std::max(value_of(position) + error_of(position), 0.0));
}

/// Taps beyond the edges are those at the edges.
template <class T>
SideTaps<T> smooth_taps(const Resizing& r, bool align_corners, const char* mode) {
    constexpr std::array<std::string_view, 4> kModes = {"linear", "bilinear", "trilinear", "bicubic"};
    constexpr std::array<size_t, 4> kSides = {1, 2, 3, 2};
    const auto known = std::ranges::find(kModes, std::string_view(mode == nullptr ? "" : mode));
    if (known == kModes.end() || kSides[static_cast<size_t>(known - kModes.begin())] != r.sides) {
        refuse("mode is '" + std::string(mode == nullptr ? "" : mode) + "', wanted one for images of " +
               std::to_string(r.sides) + " sides");
    }
    const bool is_cubic = *known == "bicubic";
    SideTaps<T> taps;
    for (size_t d = 0; d < kMost; ++d) {
        for (int64_t i = 0; i < r.out[d]; ++i) {
            if (r.in[d] == r.out[d]) {
                taps[d].push_back({{i, T(1)}});
                continue;
            }
            const T position = source<T>(i, r.in[d], r.out[d], align_corners, is_cubic);
            taps[d].push_back(is_cubic ? cubic_taps(position) : linear_taps(position));
            for (Tap<T>& tap : taps[d].back()) tap.at = std::clamp<int64_t>(tap.at, 0, r.in[d] - 1);
        }
    }
    return taps;
}

/// The part of a window in one row of a plane: its weight, and the row's first element.
template <class T>
struct TapRow {
    T weight;
    int64_t at;
};

/// Calls visit(element of the resized plane, rows of its window in the other one, taps along each row).
template <class T, class Visit>
void for_each_window(const Resizing& r, const SideTaps<T>& taps, Visit&& visit) {
    std::vector<TapRow<T>> rows;
    int64_t to = 0;
    for (const Taps<T>& deep : taps[0]) {
        for (const Taps<T>& down : taps[1]) {
            rows.clear();
            for (const Tap<T>& z : deep) {
                for (const Tap<T>& y : down) rows.push_back({z.weight * y.weight, (z.at * r.in[1] + y.at) * r.in[2]});
            }
            for (const Taps<T>& along : taps[2]) visit(to++, rows, along);
        }
    }
}

template <class T, class Side>
void resize(diopiTensorHandle_t out, diopiConstTensorHandle_t input, diopiSize_t size, Side&& taps_of) {
    const Operand<T> x(input, "input");
    WriteOnly<T> y(out, "out");
    const Resizing r(x.shape(), y.shape(), size);
    const SideTaps<T> taps = taps_of(r);
    for (int64_t plane = 0; plane < r.planes; ++plane) {
        const int64_t from = plane * area_of(r.in), to = plane * area_of(r.out);
        for_each_window<T>(r, taps, [&](int64_t i, const std::vector<TapRow<T>>& rows, const Taps<T>& along) {
            Sum<T> sum;
            for (const TapRow<T>& row : rows) {
                for (const Tap<T>& tap : along) sum += row.weight * tap.weight * x[from + row.at + tap.at];
            }
            y[to + i] = sum.value();
        });
    }
    y.store();
}

template <class T, class Side>
void resize_backward(diopiTensorHandle_t grad_input, diopiConstTensorHandle_t grad_output, diopiSize_t out_size,
                     diopiSize_t in_size, Side&& taps_of) {
    const Operand<T> g(grad_output, "grad_output");
    WriteOnly<T> gx(grad_input, "grad_input");
    require_shape("grad_input", gx.shape(), list_of(in_size));
    const Resizing r(gx.shape(), g.shape(), out_size);
    const SideTaps<T> taps = taps_of(r);
    std::vector<Sum<T>> sums(static_cast<size_t>(area_of(r.in)));
    for (int64_t plane = 0; plane < r.planes; ++plane) {
        const int64_t from = plane * area_of(r.out), to = plane * area_of(r.in);
        std::ranges::fill(sums, Sum<T>());
        for_each_window<T>(r, taps, [&](int64_t i, const std::vector<TapRow<T>>& rows, const Taps<T>& along) {
            for (const TapRow<T>& row : rows) {
                for (const Tap<T>& tap : along) {
                    sums[static_cast<size_t>(row.at + tap.at)] += row.weight * tap.weight * g[from + i];
                }
            }
        });
        for (int64_t i = 0; i < area_of(r.in); ++i) gx[to + i] = sums[static_cast<size_t>(i)].value();
    }
    gx.store();
}

diopiError_t upsample_nearest(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out,
                              diopiConstTensorHandle_t input, diopiSize_t size) {
    return kernel([&] { resize<double>(out, input, size, nearest_taps<double>); });
}

diopiError_t upsample_nearest_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                                       diopiConstTensorHandle_t grad_output, diopiSize_t out_size,
                                       diopiSize_t in_size) {
    return inexact_kernel(
        ctx, [&]<class T>(T) { resize_backward<T>(grad_input, grad_output, out_size, in_size, nearest_taps<T>); });
}

diopiError_t upsample_linear(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                             diopiConstTensorHandle_t input, diopiSize_t size, bool align_corners, const char* mode) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        resize<T>(out, input, size, [&](const Resizing& r) { return smooth_taps<T>(r, align_corners, mode); });
    });
}

diopiError_t upsample_linear_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                                      diopiConstTensorHandle_t grad_output, diopiSize_t out_size, diopiSize_t in_size,
                                      bool align_corners, const char* mode) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        resize_backward<T>(grad_input, grad_output, out_size, in_size,
                           [&](const Resizing& r) { return smooth_taps<T>(r, align_corners, mode); });
    });
}

}  // namespace

#include "kernels/entries/vision_interpolate.inc"

}  // namespace diopi::reference
