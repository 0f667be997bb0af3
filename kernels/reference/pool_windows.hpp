/// The windows of pools. All dimensions before the sides count planes. A plane has a depth, a height and a width; where
/// the function's images have fewer sides, the first ones have one element and windows of one.
#pragma once

#include <algorithm>
#include <array>

#include "kernels/reference/operand.hpp"
#include "kernels/reference/sides.hpp"

namespace diopi::reference {

/// One side of a sliding window.
struct PoolSide {
    int64_t in = 1, kernel = 1, stride = 1, padding = 0, dilation = 1, out = 1;

    void set_output(bool ceil_mode) {
        const int64_t reach = dilation * (kernel - 1) + 1;
        if (kernel < 1 || stride < 1 || dilation < 1 || padding < 0 || 2 * padding > reach) {
            refuse("the window has kernel_size " + std::to_string(kernel) + ", stride " + std::to_string(stride) +
                   ", padding " + std::to_string(padding) + ", dilation " + std::to_string(dilation) +
                   "; wanted positive numbers and padding of at most half of the dilated kernel");
        }
        // With ceil_mode a window may reach beyond the padded input by less than a stride, even the only one.
        const int64_t room = in + 2 * padding - reach + (ceil_mode ? stride - 1 : 0);
        if (room < 0) {
            refuse("input has " + std::to_string(in) + " elements along a side, wanted a window of " +
                   std::to_string(reach) + " to fit in");
        }
        out = room / stride + 1;
        // The last window has to begin inside the input or its left padding.
        if (ceil_mode && (out - 1) * stride >= in + padding) --out;
    }

    [[nodiscard]] int64_t source(int64_t position, int64_t tap) const {
        return position * stride - padding + tap * dilation;
    }
    /// First position whose tap is not before the input, and the one after the last whose tap is not behind it.
    [[nodiscard]] int64_t low(int64_t tap) const {
        const int64_t before = padding - tap * dilation;
        return before <= 0 ? 0 : std::min((before + stride - 1) / stride, out);
    }
    [[nodiscard]] int64_t high(int64_t tap) const {
        const int64_t last = in - 1 + padding - tap * dilation;
        return last < 0 ? 0 : std::min(last / stride + 1, out);
    }
    /// Without a dilation: first element under a window, and the one after its last.
    [[nodiscard]] int64_t begin(int64_t position) const { return std::max<int64_t>(source(position, 0), 0); }
    [[nodiscard]] int64_t end(int64_t position) const { return std::min(source(position, kernel), in); }
    /// Elements of a window and of the padding under it.
    [[nodiscard]] int64_t size(int64_t position) const {
        return std::min(source(position, kernel), in + padding) - source(position, 0);
    }
    /// First tap of a window that is not before the input.
    [[nodiscard]] int64_t first_inside(int64_t position) const {
        const int64_t start = source(position, 0);
        return start >= 0 ? start : start + (-start + dilation - 1) / dilation * dilation;
    }
};

/// The arguments that are not tensors. Means have no dilation: its list is empty.
struct PoolArguments {
    diopiSize_t kernel_size, stride, padding, dilation;
    bool ceil_mode;
};

struct PoolGeometry {
    int64_t planes;
    PoolSide z, y, x;
    Shape output_shape;

    PoolGeometry(size_t sides, ShapeView input, const PoolArguments& arguments) {
        require_image(sides, input);
        const Shape kernel = numbers_of(sides, arguments.kernel_size, "kernel_size");
        const Shape stride = arguments.stride.len == 0 ? kernel : numbers_of(sides, arguments.stride, "stride");
        const Shape padding = numbers_of(sides, arguments.padding, "padding");
        const Shape dilation =
            arguments.dilation.len == 0 ? Shape(sides, 1) : numbers_of(sides, arguments.dilation, "dilation");
        const size_t outer = input.size() - sides;
        planes = numel(input.first(outer));
        output_shape.assign(input.begin(), input.end());
        PoolSide* const all[] = {&z, &y, &x};
        for (size_t d = 0; d < sides; ++d) {
            PoolSide& side = *all[3 - sides + d];
            side = {input[outer + d], kernel[d], stride[d], padding[d], dilation[d]};
            side.set_output(arguments.ceil_mode);
            output_shape[outer + d] = side.out;
        }
    }
    [[nodiscard]] int64_t in_area() const { return z.in * y.in * x.in; }
    [[nodiscard]] int64_t out_area() const { return z.out * y.out * x.out; }
};

/// Part `i` of `parts` of a side: from floor(i * size / parts) to ceil((i + 1) * size / parts).
struct Part {
    int64_t begin, end;
    Part(int64_t first, int64_t last) : begin(first), end(last) {}
    Part(int64_t i, int64_t size, int64_t parts) : Part(i * size / parts, ((i + 1) * size + parts - 1) / parts) {}
    [[nodiscard]] int64_t length() const { return std::max<int64_t>(end - begin, 0); }
};

/// Depth, height and width of a plane, or of the parts that it falls into.
using Extent = std::array<int64_t, 3>;
[[nodiscard]] inline Extent extent_of(size_t sides, ShapeView shape) {
    Extent extent{1, 1, 1};
    std::ranges::copy(shape.last(sides), extent.end() - static_cast<std::ptrdiff_t>(sides));
    return extent;
}

/// A window of one plane: calls visit(offset in the input) for each of its elements, in row-major order.
struct Window {
    int64_t plane;  ///< offset of its plane in the input
    Extent in;
    Part z, y, x;

    [[nodiscard]] int64_t size() const { return z.length() * y.length() * x.length(); }
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (int64_t d = z.begin; d < z.end; ++d) {
            for (int64_t r = y.begin; r < y.end; ++r) {
                for (int64_t c = x.begin; c < x.end; ++c) visit(plane + (d * in[1] + r) * in[2] + c);
            }
        }
    }
};

/// Calls visit(output offset, plane, position along each side) for each window of each plane.
template <class Visit>
void for_each_position(int64_t planes, const Extent& out, Visit&& visit) {
    int64_t at = 0;
    for (int64_t p = 0; p < planes; ++p) {
        for (int64_t h = 0; h < out[0]; ++h) {
            for (int64_t i = 0; i < out[1]; ++i) {
                for (int64_t j = 0; j < out[2]; ++j) visit(at++, p, Extent{h, i, j});
            }
        }
    }
}

/// Calls visit(output offset, window) for each adaptive window of each plane.
template <class Visit>
void for_each_part(size_t sides, ShapeView in, ShapeView out, Visit&& visit) {
    const Extent from = extent_of(sides, in), to = extent_of(sides, out);
    const int64_t area = from[0] * from[1] * from[2];
    for_each_position(numel(in.first(in.size() - sides)), to, [&](int64_t at, int64_t p, const Extent& place) {
        visit(at, Window{p * area, from, Part(place[0], from[0], to[0]), Part(place[1], from[1], to[1]),
                         Part(place[2], from[2], to[2])});
    });
}

/// Refuses an output of a pool with adaptive windows that has other dimensions than the input and its sides.
inline void require_adaptive_shape(size_t sides, std::string_view argument, ShapeView out, ShapeView in) {
    require_image(sides, in);
    Shape wanted(in.begin(), in.end());
    if (out.size() == in.size()) {
        std::ranges::copy(out.last(sides), wanted.end() - static_cast<std::ptrdiff_t>(sides));
    }
    require_shape(argument, out, wanted);
    if (numel(in.last(sides)) == 0 && numel(out) > 0) {
        refuse("input has shape " + to_string(in) + ", wanted at least one element in each plane");
    }
}
/// The same, and one of another output_size.
inline void require_adaptive_shape(size_t sides, std::string_view argument, ShapeView out, ShapeView in,
                                   diopiSize_t output_size) {
    require_adaptive_shape(sides, argument, out, in);
    const Shape wanted = numbers_of(sides, output_size, "output_size");
    if (!same_shape(out.last(sides), wanted)) {
        refuse("output_size is " + to_string(wanted) + ", wanted the last sizes of out, " + to_string(out));
    }
}

/// Refuses places of maxima that are no integers.
inline void require_places(diopiConstTensorHandle_t indices) {
    if (const Dtype dtype = view_of(indices).dtype; !is_integer(dtype)) {
        refuse_dtype("indices", dtype, "an integer dtype");
    }
}

/// gradient[plane][places[o]] += grad[o]; refuses a place that no plane has.
template <class T>
void add_at_places(int64_t planes, int64_t in_area, int64_t out_area, const Operand<T>& grad,
                   const Operand<int64_t>& places, Output<T>& gradient) {
    for (int64_t o = 0; o < planes * out_area; ++o) {
        if (places[o] < 0 || places[o] >= in_area) {
            refuse("indices holds " + std::to_string(places[o]) + ", wanted a place in a plane of " +
                   std::to_string(in_area) + " elements");
        }
        gradient[o / out_area * in_area + places[o]] += grad[o];
    }
}

}  // namespace diopi::reference
