/// The windows of some channels of one image as columns. Plain layouts.
#pragma once

#include <algorithm>
#include <type_traits>

#include "kernels/cpu/threads.hpp"
#include "kernels/operands/conv.hpp"

namespace diopi::cpu {

using operands::ConvShape, operands::Span;

/// Lines of output places in one layer for which the same kernel element falls on the image. Places and elements count
/// in a plane of the output and in one of the image.
struct Lines {
    int64_t kernel_element;
    int64_t count, length;
    int64_t place, next_line;  ///< the first place, and from a line to the next one
    int64_t element, next_line_element, next_element;
};

/// Calls visit(lines) for each kernel element and layer.
template <class Visit>
void for_each_lines(const ConvShape& shape, Visit&& visit) {
    const operands::Window& w = shape.window;
    const auto offset = [&](size_t side, int64_t tap) { return tap * w.dilation[side] - w.padding[side]; };
    const auto places = [&](size_t side, int64_t tap) {
        return operands::inside(shape.out[side], w.stride[side], offset(side, tap), shape.in[side]);
    };
    for (int64_t k = 0; k < w.taps(); ++k) {
        const int64_t deep = k / (w.kernel[1] * w.kernel[2]), down = k / w.kernel[2] % w.kernel[1];
        const int64_t right = k % w.kernel[2];
        const Span layers = places(0, deep), rows = places(1, down), columns = places(2, right);
        for (int64_t z = layers.first; z < layers.last; ++z) {
            const int64_t layer = z * w.stride[0] + offset(0, deep);
            const int64_t row = layer * shape.in[1] + rows.first * w.stride[1] + offset(1, down);
            const int64_t place = (z * shape.out[1] + rows.first) * shape.out[2] + columns.first;
            const int64_t element = row * shape.in[2] + columns.first * w.stride[2] + offset(2, right);
            visit(Lines{k, rows.last - rows.first, columns.last - columns.first, place, shape.out[2], element,
                        w.stride[1] * shape.in[2], w.stride[2]});
        }
    }
}

/// Calls work(place, element) for each place of the lines.
template <class Work>
void for_each_place_of(Lines lines, Work&& work) {
    if (lines.next_element == 1 && lines.length == lines.next_line && lines.length == lines.next_line_element) {
        lines.length *= lines.count;
        lines.count = 1;
    }
    const auto run = [&](auto step) {
        for (int64_t y = 0; y < lines.count; ++y) {
            const int64_t place = lines.place + y * lines.next_line;
            const int64_t element = lines.element + y * lines.next_line_element;
            for (int64_t x = 0; x < lines.length; ++x) work(place + x, element + x * step);
        }
    };
    if (lines.next_element == 1)
        run(std::integral_constant<int64_t, 1>());  // a constant, for which the loop becomes one of vectors
    else
        run(lines.next_element);
}

/// columns[(channel, kernel element)][output pixel] of `channels` channels, from that of `image` on.
template <class T>
void image_to_columns(const ConvShape& shape, int64_t channels, const T* image, T* columns) {
    const int64_t size = shape.window.taps() * shape.out_area();
    parallel_for(channels, size, [&](int64_t first, int64_t last) {
        for (int64_t channel = first; channel < last; ++channel) {
            const T* from = image + channel * shape.area();
            T* to = columns + channel * size;
            std::fill_n(to, size, T{});
            for_each_lines(shape, [&](const Lines& lines) {
                T* column = to + lines.kernel_element * shape.out_area();
                for_each_place_of(lines, [=](int64_t place, int64_t element) { column[place] = from[element]; });
            });
        }
    });
}

/// The adjoint of image_to_columns.
template <class T>
void columns_to_image(const ConvShape& shape, int64_t channels, const T* columns, T* image) {
    const int64_t size = shape.window.taps() * shape.out_area();
    parallel_for(channels, size, [&](int64_t first, int64_t last) {
        for (int64_t channel = first; channel < last; ++channel) {
            const T* from = columns + channel * size;
            T* to = image + channel * shape.area();
            std::fill_n(to, shape.area(), T{});
            for_each_lines(shape, [&](const Lines& lines) {
                const T* column = from + lines.kernel_element * shape.out_area();
                for_each_place_of(lines, [=](int64_t place, int64_t element) { to[element] += column[place]; });
            });
        }
    });
}

}  // namespace diopi::cpu
