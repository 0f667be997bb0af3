/// The windows of some channels of one image as columns. Plain layouts.
#pragma once

#include <algorithm>

#include "kernels/cpu/threads.hpp"
#include "kernels/operands/conv.hpp"

namespace diopi::cpu {

using operands::ConvShape, operands::Span;

/// Visits each kernel element with the rows that it joins: visit(kernel index, output row, input row, places along the
/// row that are inside, input column of place 0). Rows count through the depth.
template <class Visit>
void for_each_row(const ConvShape& shape, Visit&& visit) {
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
            for (int64_t y = rows.first; y < rows.last; ++y) {
                visit(k, z * shape.out[1] + y, layer * shape.in[1] + y * w.stride[1] + offset(1, down), columns,
                      offset(2, right));
            }
        }
    }
}

/// columns[(channel, kernel element)][output pixel] of `channels` channels, from that of `image` on.
template <class T>
void image_to_columns(const ConvShape& shape, int64_t channels, const T* image, T* columns) {
    parallel_for(channels, shape.window.taps() * shape.out_area(), [&](int64_t first, int64_t last) {
        for (int64_t channel = first; channel < last; ++channel) {
            const T* plane = image + channel * shape.area();
            T* to = columns + channel * shape.window.taps() * shape.out_area();
            std::fill_n(to, shape.window.taps() * shape.out_area(), T{});
            const int64_t stride = shape.window.stride[2];
            for_each_row(shape, [&](int64_t k, int64_t y, int64_t row, Span places, int64_t column) {
                T* line = to + k * shape.out_area() + y * shape.out[2];
                const T* source = plane + row * shape.in[2] + column;
                for (int64_t x = places.first; x < places.last; ++x) line[x] = source[x * stride];
            });
        }
    });
}

/// The adjoint of image_to_columns.
template <class T>
void columns_to_image(const ConvShape& shape, int64_t channels, const T* columns, T* image) {
    parallel_for(channels, shape.window.taps() * shape.out_area(), [&](int64_t first, int64_t last) {
        for (int64_t channel = first; channel < last; ++channel) {
            T* plane = image + channel * shape.area();
            const T* from = columns + channel * shape.window.taps() * shape.out_area();
            std::fill_n(plane, shape.area(), T{});
            const int64_t stride = shape.window.stride[2];
            for_each_row(shape, [&](int64_t k, int64_t y, int64_t row, Span places, int64_t column) {
                const T* line = from + k * shape.out_area() + y * shape.out[2];
                T* target = plane + row * shape.in[2] + column;
                for (int64_t x = places.first; x < places.last; ++x) target[x * stride] += line[x];
            });
        }
    });
}

}  // namespace diopi::cpu
