/// Pooling over the last two dimensions; all dimensions before them count planes.
#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

std::array<int64_t, 2> pair_of(ShapeView values, std::string_view argument) {
    if (values.size() != 1 && values.size() != 2) {
        refuse(std::string(argument) + " is " + to_string(values) + ", wanted one number or two");
    }
    return {values.front(), values.back()};
}

void require_planes(ShapeView input) {
    if (input.size() == 3 || input.size() == 4) return;
    refuse("input has shape " + to_string(input) + ", wanted (N, C, H, W) or (C, H, W)");
}

/// One side of a sliding window.
struct Side {
    int64_t in, kernel, stride, padding, dilation, out = 0;

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
    /// First tap of a window that is not before the input.
    [[nodiscard]] int64_t first_inside(int64_t position) const {
        const int64_t start = source(position, 0);
        return start >= 0 ? start : start + (-start + dilation - 1) / dilation * dilation;
    }
};

struct Window {
    diopiSize_t kernel_size, stride, padding, dilation;
    bool ceil_mode;
};

struct Geometry {
    int64_t planes;
    Side y, x;
    Shape output_shape;

    Geometry(ShapeView input, const Window& window) {
        require_planes(input);
        const auto kernel = pair_of(list_of(window.kernel_size), "kernel_size");
        const auto stride = window.stride.len == 0 ? kernel : pair_of(list_of(window.stride), "stride");
        const auto padding = pair_of(list_of(window.padding), "padding");
        const auto dilation = pair_of(list_of(window.dilation), "dilation");
        const size_t rank = input.size();
        planes = numel(input.first(rank - 2));
        y = {input[rank - 2], kernel[0], stride[0], padding[0], dilation[0]};
        x = {input[rank - 1], kernel[1], stride[1], padding[1], dilation[1]};
        y.set_output(window.ceil_mode);
        x.set_output(window.ceil_mode);
        output_shape.assign(input.begin(), input.end());
        output_shape[rank - 2] = y.out;
        output_shape[rank - 1] = x.out;
    }
};

/// best = value where value is greater or NaN; then the place too, if places are wanted. Taps come in row-major order,
/// so that the first of equal maxima wins, and the last NaN.
template <int64_t Stride>
void take_greater(const double* __restrict from, int64_t stride, int64_t n, int64_t place, double* __restrict best,
                  int64_t* __restrict places) {
    const int64_t step = Stride > 0 ? Stride : stride;
    if (places == nullptr) {
        for (int64_t k = 0; k < n; ++k) {
            const double value = from[k * step];
            best[k] = (value > best[k]) | (value != value) ? value : best[k];
        }
        return;
    }
    for (int64_t k = 0; k < n; ++k) {
        const double value = from[k * step];
        const bool taken = (value > best[k]) | (value != value);
        best[k] = taken ? value : best[k];
        places[k] = taken ? place + k * step : places[k];
    }
}

/// One output row of one plane, tap by tap.
void max_row(const Geometry& g, const double* plane, int64_t oy, double* best, int64_t* places) {
    std::fill_n(best, g.x.out, -std::numeric_limits<double>::infinity());
    for (int64_t ox = 0; places != nullptr && ox < g.x.out; ++ox) {
        places[ox] = g.y.first_inside(oy) * g.x.in + g.x.first_inside(ox);
    }
    for (int64_t i = 0; i < g.y.kernel; ++i) {
        const int64_t iy = g.y.source(oy, i);
        if (iy < 0 || iy >= g.y.in) continue;
        for (int64_t j = 0; j < g.x.kernel; ++j) {
            const int64_t low = g.x.low(j);
            const int64_t n = g.x.high(j) - low;
            const int64_t place = iy * g.x.in + g.x.source(low, j);
            int64_t* to_places = places == nullptr ? nullptr : places + low;
            const auto take = g.x.stride == 1 ? take_greater<1> : g.x.stride == 2 ? take_greater<2> : take_greater<0>;
            if (n > 0) take(plane + place, g.x.stride, n, place, best + low, to_places);
        }
    }
}

/// out = maximum of the window, padding counting as -infinity, NaN winning; indices its place y*W + x in the plane.
diopiError_t max_pool(diopiTensorHandle_t out, diopiTensorHandle_t indices, diopiConstTensorHandle_t input,
                      const Window& window) {
    return kernel([&] {
        const Operand<double> x(input, "input");
        Output<double> y(out, "out");
        Output<int64_t> places(indices, "indices?");
        const Geometry g(x.shape(), window);
        require_shape("out", y.shape(), g.output_shape);
        if (places) require_shape("indices", places.shape(), g.output_shape);
        for (int64_t p = 0; p < g.planes; ++p) {
            for (int64_t oy = 0; oy < g.y.out; ++oy) {
                const int64_t row = (p * g.y.out + oy) * g.x.out;
                max_row(g, x.data() + p * g.y.in * g.x.in, oy, y.data() + row, places ? places.data() + row : nullptr);
            }
        }
        y.store();
        places.store();
    });
}

/// Part `i` of `parts` of a side: from floor(i * size / parts) to ceil((i + 1) * size / parts).
struct Part {
    int64_t begin, end;
    Part(int64_t i, int64_t size, int64_t parts) : begin(i * size / parts), end(((i + 1) * size + parts - 1) / parts) {}
    [[nodiscard]] int64_t length() const { return end - begin; }
};

/// Calls visit(output offset, input plane offset, rows, columns) for each window of each plane.
template <class Visit>
void for_each_part(ShapeView in, ShapeView out, Visit&& visit) {
    const size_t rank = in.size();
    const int64_t planes = numel(in.first(rank - 2));
    const int64_t height = out[rank - 2];
    const int64_t width = out[rank - 1];
    for (int64_t p = 0; p < planes; ++p) {
        for (int64_t i = 0; i < height; ++i) {
            for (int64_t j = 0; j < width; ++j) {
                visit((p * height + i) * width + j, p * in[rank - 2] * in[rank - 1], Part(i, in[rank - 2], height),
                      Part(j, in[rank - 1], width));
            }
        }
    }
}

void require_adaptive_shape(std::string_view argument, ShapeView out, ShapeView in) {
    require_planes(in);
    Shape wanted(in.begin(), in.end());
    if (out.size() == in.size()) std::ranges::copy(out.last(2), wanted.end() - 2);
    require_shape(argument, out, wanted);
    if (numel(in.last(2)) == 0 && numel(out) > 0) {
        refuse("input has shape " + to_string(in) + ", wanted at least one element in each plane");
    }
}

}  // namespace

diopiError_t diopiMaxPool2d(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                            diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation,
                            bool ceil_mode) {
    return max_pool(out, nullptr, input, {kernel_size, stride, padding, dilation, ceil_mode});
}

diopiError_t diopiMaxPool2dWithIndices(diopiContextHandle_t, diopiTensorHandle_t out, diopiTensorHandle_t indices,
                                       diopiConstTensorHandle_t input, diopiSize_t kernel_size, diopiSize_t stride,
                                       diopiSize_t padding, diopiSize_t dilation, bool ceil_mode) {
    return max_pool(out, indices, input, {kernel_size, stride, padding, dilation, ceil_mode});
}

/// grad_input[plane][indices[o]] += grad_output[o]: windows that overlap may name one place several times.
diopiError_t diopiMaxPool2dBackward(diopiContextHandle_t, diopiTensorHandle_t grad_input,
                                    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                    diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding,
                                    diopiSize_t dilation, bool ceil_mode, diopiConstTensorHandle_t indices) {
    return kernel([&] {
        const Operand<double> grad(grad_output, "grad_output");
        const Operand<int64_t> places(indices, "indices");
        if (const Dtype dtype = view_of(indices).dtype; !is_integer(dtype)) {
            refuse_dtype("indices", dtype, "an integer dtype");
        }
        const View x = view_of(input);
        Output<double> gx(grad_input, "grad_input", Output<double>::Start::kZero);
        const Geometry g(x.shape, {kernel_size, stride, padding, dilation, ceil_mode});
        require_shape("grad_output", grad.shape(), g.output_shape);
        require_shape("indices", places.shape(), g.output_shape);
        require_shape("grad_input", gx.shape(), x.shape);
        const int64_t in_plane = g.y.in * g.x.in;
        const int64_t out_plane = g.y.out * g.x.out;
        for (int64_t p = 0; p < g.planes; ++p) {
            double* plane = gx.data() + p * in_plane;
            for (int64_t o = p * out_plane; o < (p + 1) * out_plane; ++o) {
                if (places[o] < 0 || places[o] >= in_plane) {
                    refuse("indices holds " + std::to_string(places[o]) + ", wanted a place in a plane of " +
                           std::to_string(in_plane) + " elements");
                }
                plane[places[o]] += grad[o];
            }
        }
        gx.store();
    });
}

/// out[i,j] = mean of input over part i of the rows and part j of the columns. A size of 0: out is empty.
diopiError_t diopiAdaptiveAvgPool2d(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                    diopiSize_t output_size) {
    return kernel([&] {
        const Operand<double> x(input, "input");
        Output<double> y(out, "out");
        require_adaptive_shape("out", y.shape(), x.shape());
        const auto wanted = pair_of(list_of(output_size), "output_size");
        if (!same_shape(y.shape().last(2), wanted)) {
            refuse("output_size is " + to_string(wanted) + ", wanted the last sizes of out, " + to_string(y.shape()));
        }
        const int64_t width = x.shape().back();
        for_each_part(x.shape(), y.shape(), [&](int64_t to, int64_t plane, const Part& rows, const Part& columns) {
            double sum = 0.0;
            for (int64_t r = rows.begin; r < rows.end; ++r) {
                for (int64_t c = columns.begin; c < columns.end; ++c) sum += x[plane + r * width + c];
            }
            y[to] = sum / static_cast<double>(rows.length() * columns.length());
        });
        y.store();
    });
}

/// grad_input = for each element the sum of grad_output / window size over the windows that hold it.
diopiError_t diopiAdaptiveAvgPool2dBackward(diopiContextHandle_t, diopiTensorHandle_t grad_input,
                                            diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input) {
    return kernel([&] {
        const Operand<double> g(grad_output, "grad_output");
        const View x = view_of(input);
        Output<double> gx(grad_input, "grad_input", Output<double>::Start::kZero);
        require_shape("grad_input", gx.shape(), x.shape);
        require_adaptive_shape("grad_output", g.shape(), x.shape);
        const int64_t width = x.shape.back();
        for_each_part(x.shape, g.shape(), [&](int64_t from, int64_t plane, const Part& rows, const Part& columns) {
            const double share = g[from] / static_cast<double>(rows.length() * columns.length());
            for (int64_t r = rows.begin; r < rows.end; ++r) {
                for (int64_t c = columns.begin; c < columns.end; ++c) gx[plane + r * width + c] += share;
            }
        });
        gx.store();
    });
}

}  // namespace diopi::reference
