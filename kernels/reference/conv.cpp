/// Convolution by im2col and matrix products; with few channels in a group by plain loops over rows, where a product
/// would be all overhead.
#include <algorithm>
#include <vector>

#include "kernels/reference/blas.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/sum.hpp"

namespace diopi::reference {

namespace {

/// The buffer of unfolded columns holds as many rows of an image's output as fit in these bytes.
constexpr int64_t kColumnBytes = int64_t{32} << 20;
/// Up to this many (input, output) channel pairs in a group the plain loops run.
constexpr int64_t kDirectPairs = 4;

/// One number for both sides, or two.
std::array<int64_t, 2> pair_of(diopiSize_t list, std::string_view argument, int64_t least) {
    const ShapeView values = list_of(list);
    if (values.size() != 1 && values.size() != 2) {
        refuse(std::string(argument) + " is " + to_string(values) + ", wanted one number or two");
    }
    for (const int64_t value : values) {
        if (value < least) {
            refuse(std::string(argument) + " is " + to_string(values) + ", wanted " + std::to_string(least) +
                   " or more");
        }
    }
    return {values.front(), values.back()};
}

/// Output positions [low, high) along one side.
struct Range {
    int64_t low, high;
};

/// One side of the window: position `out` reads input position out * stride - padding + tap * dilation.
struct Side {
    int64_t in, kernel, stride, padding, dilation, out = 0;

    void set_output(std::string_view name) {
        const int64_t room = in + 2 * padding - dilation * (kernel - 1) - 1;
        if (kernel < 1 || room < 0) {
            refuse("weight has " + std::string(name) + " " + std::to_string(kernel) +
                   ", wanted 1 or more and, with dilation " + std::to_string(dilation) +
                   ", at most the padded input of " + std::to_string(in + 2 * padding));
        }
        out = room / stride + 1;
    }

    [[nodiscard]] int64_t source(int64_t position, int64_t tap) const {
        return position * stride - padding + tap * dilation;
    }

    /// The positions in `wanted` whose tap falls on the input and not on the padding.
    [[nodiscard]] Range inside(int64_t tap, Range wanted) const {
        const int64_t shift = padding - tap * dilation;
        const int64_t low = shift <= 0 ? 0 : (shift + stride - 1) / stride;
        const int64_t last = in - 1 + shift;
        const int64_t high = last < 0 ? 0 : last / stride + 1;
        return {std::max(low, wanted.low), std::min(high, wanted.high)};
    }
};

struct Geometry {
    int64_t images, groups;
    /// Channels of a group.
    int64_t in_channels, out_channels;
    Side y, x;
    Shape output_shape;

    [[nodiscard]] int64_t in_plane() const { return y.in * x.in; }
    [[nodiscard]] int64_t out_plane() const { return y.out * x.out; }
    /// Terms of an output element: the rows of the unfolded columns.
    [[nodiscard]] int64_t depth() const { return in_channels * y.kernel * x.kernel; }
    [[nodiscard]] bool is_direct() const { return in_channels * out_channels <= kDirectPairs; }
    /// A window of one element that does not move over padding: the input is its own unfolded form.
    [[nodiscard]] bool is_pointwise() const {
        return y.kernel * x.kernel == 1 && y.stride == 1 && x.stride == 1 && y.padding == 0 && x.padding == 0;
    }
    [[nodiscard]] int64_t rows_per_tile() const {
        const int64_t row_bytes = std::max<int64_t>(depth() * x.out * static_cast<int64_t>(sizeof(double)), 1);
        return std::clamp<int64_t>(kColumnBytes / row_bytes, 1, std::max<int64_t>(y.out, 1));
    }
};

struct Window {
    diopiSize_t stride, padding, dilation;
    int64_t groups;
};

Geometry geometry_of(ShapeView input, ShapeView weight, const Window& window) {
    if (input.size() != 3 && input.size() != 4) {
        refuse("input has shape " + to_string(input) + ", wanted (N, Cin, H, W) or (Cin, H, W)");
    }
    const ShapeView image = input.last(3);
    const int64_t groups = window.groups;
    if (groups < 1 || image[0] % groups != 0) {
        refuse("groups is " + std::to_string(groups) + ", wanted a divisor of the " + std::to_string(image[0]) +
               " input channels");
    }
    if (weight.size() != 4 || weight[0] % groups != 0 || weight[1] != image[0] / groups) {
        refuse("weight has shape " + to_string(weight) + ", wanted (Cout, " + std::to_string(image[0] / groups) +
               ", kH, kW) with Cout a multiple of " + std::to_string(groups));
    }
    const auto stride = pair_of(window.stride, "stride", 1);
    const auto padding = pair_of(window.padding, "padding", 0);
    const auto dilation = pair_of(window.dilation, "dilation", 1);
    Geometry g{input.size() == 4 ? input[0] : 1,
               groups,
               weight[1],
               weight[0] / groups,
               {image[1], weight[2], stride[0], padding[0], dilation[0]},
               {image[2], weight[3], stride[1], padding[1], dilation[1]},
               {}};
    g.y.set_output("kH");
    g.x.set_output("kW");
    g.output_shape.assign(input.begin(), input.end());
    std::ranges::copy(std::array{weight[0], g.y.out, g.x.out}, g.output_shape.end() - 3);
    return g;
}

/// columns[(c, i, j)][(oy, ox)] = image[c][source of oy][source of ox], 0 outside, for the output rows in `rows`.
void unfold(const Geometry& g, const double* image, Range rows, double* columns) {
    for (int64_t c = 0; c < g.in_channels; ++c) {
        for (int64_t i = 0; i < g.y.kernel; ++i) {
            for (int64_t j = 0; j < g.x.kernel; ++j) {
                const Range x = g.x.inside(j, {0, g.x.out});
                for (int64_t oy = rows.low; oy < rows.high; ++oy, columns += g.x.out) {
                    const int64_t iy = g.y.source(oy, i);
                    if (iy < 0 || iy >= g.y.in || x.low >= x.high) {
                        std::fill_n(columns, g.x.out, 0.0);
                        continue;
                    }
                    const double* from = image + c * g.in_plane() + iy * g.x.in + g.x.source(x.low, j);
                    std::fill_n(columns, x.low, 0.0);
                    for (int64_t k = 0; k < x.high - x.low; ++k) columns[x.low + k] = from[k * g.x.stride];
                    std::fill_n(columns + x.high, g.x.out - x.high, 0.0);
                }
            }
        }
    }
}

/// The adjoint of unfold: adds each column element to the image element that it came from.
void fold(const Geometry& g, const double* columns, Range rows, double* image) {
    for (int64_t c = 0; c < g.in_channels; ++c) {
        for (int64_t i = 0; i < g.y.kernel; ++i) {
            for (int64_t j = 0; j < g.x.kernel; ++j) {
                const Range x = g.x.inside(j, {0, g.x.out});
                for (int64_t oy = rows.low; oy < rows.high; ++oy, columns += g.x.out) {
                    const int64_t iy = g.y.source(oy, i);
                    if (iy < 0 || iy >= g.y.in || x.low >= x.high) continue;
                    double* to = image + c * g.in_plane() + iy * g.x.in + g.x.source(x.low, j);
                    for (int64_t k = 0; k < x.high - x.low; ++k) to[k * g.x.stride] += columns[x.low + k];
                }
            }
        }
    }
}

/// Calls visit(weight index, output offset, input offset, length) for each run of an output row that one weight
/// touches, in the planes of one group; steps are 1 in the output and stride in the input.
template <class Visit>
void for_each_run(const Geometry& g, Visit&& visit) {
    for (int64_t o = 0; o < g.out_channels; ++o) {
        for (int64_t tap = 0; tap < g.depth(); ++tap) {
            const int64_t j = tap % g.x.kernel;
            const int64_t i = tap / g.x.kernel % g.y.kernel;
            const int64_t c = tap / g.x.kernel / g.y.kernel;
            const Range x = g.x.inside(j, {0, g.x.out});
            const Range y = g.y.inside(i, {0, g.y.out});
            if (x.low >= x.high) continue;
            for (int64_t oy = y.low; oy < y.high; ++oy) {
                visit(o * g.depth() + tap, o * g.out_plane() + oy * g.x.out + x.low,
                      c * g.in_plane() + g.y.source(oy, i) * g.x.in + g.x.source(x.low, j), x.high - x.low);
            }
        }
    }
}

/// Calls visit(rows, columns, pitch) tile by tile with the unfolded columns of one image's group.
template <class Visit>
void for_each_tile(const Geometry& g, const double* image, std::vector<double>& buffer, Visit&& visit) {
    if (g.is_pointwise()) return visit(Range{0, g.y.out}, image, g.out_plane());
    const int64_t step = g.rows_per_tile();
    buffer.resize(static_cast<size_t>(g.depth() * step * g.x.out));
    for (int64_t low = 0; low < g.y.out; low += step) {
        const Range rows{low, std::min(low + step, g.y.out)};
        unfold(g, image, rows, buffer.data());
        visit(rows, buffer.data(), (rows.high - rows.low) * g.x.out);
    }
}

void forward_group(const Geometry& g, const double* image, const double* weight, std::vector<double>& buffer,
                   double* out) {
    if (g.is_direct()) {
        std::fill_n(out, g.out_channels * g.out_plane(), 0.0);
        for_each_run(g, [&](int64_t at_weight, int64_t at_out, int64_t at_in, int64_t n) {
            const double factor = weight[at_weight];
            double* __restrict to = out + at_out;
            const double* __restrict from = image + at_in;
            if (g.x.stride == 1) {
                for (int64_t k = 0; k < n; ++k) to[k] += factor * from[k];
            } else {
                for (int64_t k = 0; k < n; ++k) to[k] += factor * from[k * g.x.stride];
            }
        });
        return;
    }
    for_each_tile(g, image, buffer, [&](Range rows, const double* columns, int64_t pitch) {
        multiply(g.out_channels, pitch, g.depth(), {weight, g.depth()}, {columns, pitch}, out + rows.low * g.x.out,
                 g.out_plane(), false);
    });
}

/// grad_weight += grad_output * columns^T.
void weight_group(const Geometry& g, const double* image, const double* grad, std::vector<double>& buffer,
                  double* grad_weight) {
    if (g.is_direct()) {
        for_each_run(g, [&](int64_t at_weight, int64_t at_out, int64_t at_in, int64_t n) {
            const double* from = image + at_in;
            const double* along = grad + at_out;
            grad_weight[at_weight] +=
                pairwise_sum<double>(n, [=, step = g.x.stride](int64_t k) { return along[k] * from[k * step]; });
        });
        return;
    }
    for_each_tile(g, image, buffer, [&](Range rows, const double* columns, int64_t pitch) {
        multiply(g.out_channels, g.depth(), pitch, {grad + rows.low * g.x.out, g.out_plane()}, {columns, pitch, true},
                 grad_weight, g.depth(), true);
    });
}

/// grad_image += fold(weight^T * grad_output).
void input_group(const Geometry& g, const double* weight, const double* grad, std::vector<double>& buffer,
                 double* grad_image) {
    if (g.is_direct()) {
        for_each_run(g, [&](int64_t at_weight, int64_t at_out, int64_t at_in, int64_t n) {
            const double factor = weight[at_weight];
            double* __restrict to = grad_image + at_in;
            const double* __restrict from = grad + at_out;
            if (g.x.stride == 1) {
                for (int64_t k = 0; k < n; ++k) to[k] += factor * from[k];
            } else {
                for (int64_t k = 0; k < n; ++k) to[k * g.x.stride] += factor * from[k];
            }
        });
        return;
    }
    if (g.is_pointwise()) {
        multiply(g.depth(), g.out_plane(), g.out_channels, {weight, g.depth(), true}, {grad, g.out_plane()}, grad_image,
                 g.in_plane(), false);
        return;
    }
    const int64_t step = g.rows_per_tile();
    buffer.resize(static_cast<size_t>(g.depth() * step * g.x.out));
    for (int64_t low = 0; low < g.y.out; low += step) {
        const Range rows{low, std::min(low + step, g.y.out)};
        const int64_t pitch = (rows.high - rows.low) * g.x.out;
        multiply(g.depth(), pitch, g.out_channels, {weight, g.depth(), true}, {grad + low * g.x.out, g.out_plane()},
                 buffer.data(), pitch, false);
        fold(g, buffer.data(), rows, grad_image);
    }
}

/// Calls visit(offset in input, in weight, in output) for each image and group.
template <class Visit>
void for_each_group(const Geometry& g, Visit&& visit) {
    for (int64_t n = 0; n < g.images; ++n) {
        for (int64_t k = 0; k < g.groups; ++k) {
            const int64_t plane = n * g.groups + k;
            visit(plane * g.in_channels * g.in_plane(), k * g.out_channels * g.depth(),
                  plane * g.out_channels * g.out_plane());
        }
    }
}

}  // namespace

/// out[n,co,y,x] = bias[co] + sum of weight[co,ci,i,j] * input[n, ci, y*stride - padding + i*dilation, ...] over the
/// group's input channels, 0 outside. No images: out is empty. No input channels: out is bias.
diopiError_t diopiConvolution2d(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias, diopiSize_t stride,
                                diopiSize_t padding, diopiSize_t dilation, int64_t groups) {
    return kernel([&] {
        const Operand<double> x(input, "input");
        const Operand<double> w(weight, "weight");
        const Operand<double> b(bias, "bias?");
        Output<double> y(out, "out");
        const Geometry g = geometry_of(x.shape(), w.shape(), {stride, padding, dilation, groups});
        require_shape("out", y.shape(), g.output_shape);
        if (b) require_shape("bias", b.shape(), w.shape().first(1));
        std::vector<double> buffer;
        for_each_group(g, [&](int64_t at_input, int64_t at_weight, int64_t at_output) {
            forward_group(g, x.data() + at_input, w.data() + at_weight, buffer, y.data() + at_output);
        });
        if (b && g.out_plane() > 0) {
            for (int64_t plane = 0; plane < y.numel() / g.out_plane(); ++plane) {
                double* to = y.data() + plane * g.out_plane();
                const double value = b[plane % b.numel()];
                for (int64_t i = 0; i < g.out_plane(); ++i) to[i] += value;
            }
        }
        y.store();
    });
}

/// With columns the unfolded input: grad_input = fold(weight^T * g), grad_weight = sum over images of g * columns^T,
/// grad_bias = g summed over all but the channels. No images: zeros.
diopiError_t diopiConvolution2dBackward(diopiContextHandle_t, diopiTensorHandle_t grad_input,
                                        diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                        diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                        diopiConstTensorHandle_t weight, diopiSize_t*, diopiSize_t stride,
                                        diopiSize_t padding, diopiSize_t dilation, int64_t groups) {
    return kernel([&] {
        using Gradient = Output<double>;
        const Operand<double> grad(grad_output, "grad_output");
        const Operand<double> x(input, "input");
        const Operand<double> w(weight, "weight");
        Gradient gx(grad_input, "grad_input?", Gradient::Start::kZero);
        Gradient gw(grad_weight, "grad_weight?", Gradient::Start::kZero);
        Gradient gb(grad_bias, "grad_bias?", Gradient::Start::kZero);
        const Geometry g = geometry_of(x.shape(), w.shape(), {stride, padding, dilation, groups});
        require_shape("grad_output", grad.shape(), g.output_shape);
        if (gx) require_shape("grad_input", gx.shape(), x.shape());
        if (gw) require_shape("grad_weight", gw.shape(), w.shape());
        if (gb) require_shape("grad_bias", gb.shape(), w.shape().first(1));
        std::vector<double> buffer;
        for_each_group(g, [&](int64_t at_input, int64_t at_weight, int64_t at_output) {
            const double* from = grad.data() + at_output;
            if (gw) weight_group(g, x.data() + at_input, from, buffer, gw.data() + at_weight);
            if (gx) input_group(g, w.data() + at_weight, from, buffer, gx.data() + at_input);
        });
        if (gb && g.out_plane() > 0) {
            for (int64_t plane = 0; plane < grad.numel() / g.out_plane(); ++plane) {
                const double* from = grad.data() + plane * g.out_plane();
                gb[plane % gb.numel()] += pairwise_sum<double>(g.out_plane(), [=](int64_t i) { return from[i]; });
            }
        }
        gx.store();
        gw.store();
        gb.store();
    });
}

}  // namespace diopi::reference
