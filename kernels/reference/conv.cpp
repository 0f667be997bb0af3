/// Convolution by im2col and matrix products; with few channels in a group by plain loops over rows, where a product
/// would be mostly overhead. Images have a depth, a height and a width; where the function's images have fewer sides,
/// the first ones have one element and a kernel of one.
#include "kernels/reference/conv.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/blas.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/sides.hpp"
#include "kernels/reference/sum.hpp"

namespace diopi::reference {

namespace {

/// The buffer of unfolded columns holds as many rows of an image's output as fit in these bytes.
constexpr int64_t kColumnBytes = int64_t{32} << 20;
/// Up to this many (input, output) channel pairs in a group the plain loops run.
constexpr int64_t kDirectPairs = 4;

constexpr std::string_view kKernelSides[] = {"kL", "kH, kW", "kD, kH, kW"};
constexpr std::string_view kKernelSide[3][3] = {{"", "", "kL"}, {"", "kH", "kW"}, {"kD", "kH", "kW"}};

/// Depth, height and width.
using Numbers = std::array<int64_t, 3>;

/// The numbers of the sides that the images have, the last ones.
Numbers read_numbers(size_t sides, diopiSize_t list, std::string_view argument, int64_t least) {
    const Shape values = numbers_of(sides, list, argument);
    for (const int64_t value : values) {
        if (value < least) {
            refuse(std::string(argument) + " is " + to_string(list_of(list)) + ", wanted " + std::to_string(least) +
                   " or more");
        }
    }
    Numbers numbers{};
    std::ranges::copy(values, numbers.end() - static_cast<std::ptrdiff_t>(sides));
    return numbers;
}

/// Output positions [low, high) along one side.
struct Range {
    int64_t low, high;
};

/// One side of the window: position `out` reads input position out * stride - padding + tap * dilation.
struct Side {
    int64_t in = 1, kernel = 1, stride = 1, padding = 0, dilation = 1, out = 1;

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
    [[nodiscard]] bool holds(int64_t position) const { return position >= 0 && position < in; }

    /// The positions whose tap falls on the input and not on the padding.
    [[nodiscard]] Range inside(int64_t tap) const {
        const int64_t shift = padding - tap * dilation;
        const int64_t low = shift <= 0 ? 0 : (shift + stride - 1) / stride;
        const int64_t last = in - 1 + shift;
        const int64_t high = last < 0 ? 0 : last / stride + 1;
        return {low, std::min(high, out)};
    }
};

struct Geometry {
    int64_t images, groups;
    /// Channels of a group.
    int64_t in_channels, out_channels;
    Side z, y, x;
    Shape output_shape;

    [[nodiscard]] int64_t in_area() const { return z.in * y.in * x.in; }
    [[nodiscard]] int64_t out_area() const { return out_rows() * x.out; }
    [[nodiscard]] int64_t out_rows() const { return z.out * y.out; }
    [[nodiscard]] int64_t taps() const { return z.kernel * y.kernel * x.kernel; }
    /// Terms of an output element: the rows of the unfolded columns.
    [[nodiscard]] int64_t depth() const { return in_channels * taps(); }
    [[nodiscard]] bool is_direct() const { return in_channels * out_channels <= kDirectPairs; }
    /// A window of one element that does not move over padding: the input is its own unfolded form.
    [[nodiscard]] bool is_pointwise() const {
        const auto stands_still = [](const Side& s) { return s.kernel == 1 && s.stride == 1 && s.padding == 0; };
        return stands_still(z) && stands_still(y) && stands_still(x);
    }
    [[nodiscard]] int64_t rows_per_tile() const {
        const int64_t row_bytes = std::max<int64_t>(depth() * x.out * static_cast<int64_t>(sizeof(double)), 1);
        return std::clamp<int64_t>(kColumnBytes / row_bytes, 1, std::max<int64_t>(out_rows(), 1));
    }
};

/// The arguments that are not tensors.
struct ConvArguments {
    diopiSize_t stride, padding, dilation;
    int64_t groups;
};

Geometry geometry_of(size_t sides, ShapeView input, ShapeView weight, const ConvArguments& arguments) {
    if (input.size() != sides + 1 && input.size() != sides + 2) {
        const std::string image(side_names(sides));
        refuse("input has shape " + to_string(input) + ", wanted (N, Cin, " + image + ") or (Cin, " + image + ")");
    }
    const ShapeView image = input.last(sides + 1);
    const int64_t groups = arguments.groups;
    if (groups < 1 || image[0] % groups != 0) {
        refuse("groups is " + std::to_string(groups) + ", wanted a divisor of the " + std::to_string(image[0]) +
               " input channels");
    }
    if (weight.size() != sides + 2 || weight[0] % groups != 0 || weight[1] != image[0] / groups) {
        refuse("weight has shape " + to_string(weight) + ", wanted (Cout, " + std::to_string(image[0] / groups) + ", " +
               std::string(kKernelSides[sides - 1]) + ") with Cout a multiple of " + std::to_string(groups));
    }
    const Numbers stride = read_numbers(sides, arguments.stride, "stride", 1);
    const Numbers padding = read_numbers(sides, arguments.padding, "padding", 0);
    const Numbers dilation = read_numbers(sides, arguments.dilation, "dilation", 1);
    Geometry g{input.size() == sides + 2 ? input[0] : 1, groups, weight[1], weight[0] / groups, {}, {}, {}, {}};
    g.output_shape.assign(input.begin(), input.end());
    g.output_shape[input.size() - sides - 1] = weight[0];
    Side* const all[] = {&g.z, &g.y, &g.x};
    for (size_t d = 3 - sides; d < 3; ++d) {
        const size_t from_end = 3 - d;
        Side& side = *all[d];
        side = {input[input.size() - from_end], weight[weight.size() - from_end], stride[d], padding[d], dilation[d]};
        side.set_output(kKernelSide[sides - 1][d]);
        g.output_shape[input.size() - from_end] = side.out;
    }
    return g;
}

/// Calls visit(first, positions) for each row of the unfolded columns: for each
/// channel and tap the output rows in `rows`, x.out columns each. Positions are those along x that lie inside, `first`
/// the offset in the image of the first one of them, -1 where there is none.
template <class Visit>
void for_each_column_row(const Geometry& g, Range rows, Visit&& visit) {
    for (int64_t k = 0; k < g.depth(); ++k) {
        const int64_t j = k % g.x.kernel;
        const int64_t i = k / g.x.kernel % g.y.kernel;
        const int64_t h = k / (g.x.kernel * g.y.kernel) % g.z.kernel;
        const int64_t c = k / g.taps();
        const Range x = g.x.inside(j);
        for (int64_t row = rows.low; row < rows.high; ++row) {
            const int64_t iz = g.z.source(row / g.y.out, h);
            const int64_t iy = g.y.source(row % g.y.out, i);
            const bool is_inside = g.z.holds(iz) && g.y.holds(iy) && x.low < x.high;
            const int64_t first = c * g.in_area() + (iz * g.y.in + iy) * g.x.in + g.x.source(x.low, j);
            visit(is_inside ? first : -1, x);
        }
    }
}

/// columns[(channel, tap)][output position] = the image's element under that tap, 0 outside, for the output rows in
/// `rows`.
void unfold(const Geometry& g, const double* image, Range rows, double* columns) {
    for_each_column_row(g, rows, [&](int64_t first, Range x) {
        std::fill_n(columns, first < 0 ? g.x.out : x.low, 0.0);
        if (first >= 0) {
            for (int64_t k = 0; k < x.high - x.low; ++k) columns[x.low + k] = image[first + k * g.x.stride];
            std::fill_n(columns + x.high, g.x.out - x.high, 0.0);
        }
        columns += g.x.out;
    });
}

/// The adjoint of unfold: adds each column element to the image element that it came from.
void fold(const Geometry& g, const double* columns, Range rows, double* image) {
    for_each_column_row(g, rows, [&](int64_t first, Range x) {
        for (int64_t k = 0; first >= 0 && k < x.high - x.low; ++k) image[first + k * g.x.stride] += columns[x.low + k];
        columns += g.x.out;
    });
}

/// Calls visit(weight index, output offset, input offset, length) for each run of an output row that one weight
/// touches, in the planes of one group; steps are 1 in the output and stride in the input.
template <class Visit>
void for_each_run(const Geometry& g, Visit&& visit) {
    for (int64_t o = 0; o < g.out_channels; ++o) {
        for (int64_t tap = 0; tap < g.depth(); ++tap) {
            const int64_t j = tap % g.x.kernel;
            const int64_t i = tap / g.x.kernel % g.y.kernel;
            const int64_t h = tap / (g.x.kernel * g.y.kernel) % g.z.kernel;
            const int64_t c = tap / g.taps();
            const Range x = g.x.inside(j), y = g.y.inside(i), z = g.z.inside(h);
            if (x.low >= x.high) continue;
            for (int64_t oz = z.low; oz < z.high; ++oz) {
                for (int64_t oy = y.low; oy < y.high; ++oy) {
                    const int64_t in_row = g.z.source(oz, h) * g.y.in + g.y.source(oy, i);
                    visit(o * g.depth() + tap, o * g.out_area() + (oz * g.y.out + oy) * g.x.out + x.low,
                          c * g.in_area() + in_row * g.x.in + g.x.source(x.low, j), x.high - x.low);
                }
            }
        }
    }
}

/// Calls visit(rows, columns, pitch) tile by tile with the unfolded columns of one image's group.
template <class Visit>
void for_each_tile(const Geometry& g, const double* image, std::vector<double>& buffer, Visit&& visit) {
    if (g.is_pointwise()) return visit(Range{0, g.out_rows()}, image, g.out_area());
    const int64_t step = g.rows_per_tile();
    buffer.resize(static_cast<size_t>(g.depth() * step * g.x.out));
    for (int64_t low = 0; low < g.out_rows(); low += step) {
        const Range rows{low, std::min(low + step, g.out_rows())};
        unfold(g, image, rows, buffer.data());
        visit(rows, buffer.data(), (rows.high - rows.low) * g.x.out);
    }
}

void forward_group(const Geometry& g, const double* image, const double* weight, std::vector<double>& buffer,
                   double* out) {
    if (g.is_direct()) {
        std::fill_n(out, g.out_channels * g.out_area(), 0.0);
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
                 g.out_area(), false);
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
        multiply(g.out_channels, g.depth(), pitch, {grad + rows.low * g.x.out, g.out_area()}, {columns, pitch, true},
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
        multiply(g.depth(), g.out_area(), g.out_channels, {weight, g.depth(), true}, {grad, g.out_area()}, grad_image,
                 g.in_area(), false);
        return;
    }
    const int64_t step = g.rows_per_tile();
    buffer.resize(static_cast<size_t>(g.depth() * step * g.x.out));
    for (int64_t low = 0; low < g.out_rows(); low += step) {
        const Range rows{low, std::min(low + step, g.out_rows())};
        const int64_t pitch = (rows.high - rows.low) * g.x.out;
        multiply(g.depth(), pitch, g.out_channels, {weight, g.depth(), true}, {grad + low * g.x.out, g.out_area()},
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
            visit(plane * g.in_channels * g.in_area(), k * g.out_channels * g.depth(),
                  plane * g.out_channels * g.out_area());
        }
    }
}

}  // namespace

diopiError_t convolution(diopiContextHandle_t, std::string_view, size_t sides, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias,
                         diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation, int64_t groups) {
    return kernel([&] {
        const Operand<double> x(input, "input");
        const Operand<double> w(weight, "weight");
        const Operand<double> b(bias, "bias?");
        Output<double> y(out, "out");
        const Geometry g = geometry_of(sides, x.shape(), w.shape(), {stride, padding, dilation, groups});
        require_shape("out", y.shape(), g.output_shape);
        if (b) require_shape("bias", b.shape(), w.shape().first(1));
        std::vector<double> buffer;
        for_each_group(g, [&](int64_t at_input, int64_t at_weight, int64_t at_output) {
            forward_group(g, x.data() + at_input, w.data() + at_weight, buffer, y.data() + at_output);
        });
        if (b && g.out_area() > 0) {
            for (int64_t plane = 0; plane < y.numel() / g.out_area(); ++plane) {
                double* to = y.data() + plane * g.out_area();
                const double value = b[plane % b.numel()];
                for (int64_t i = 0; i < g.out_area(); ++i) to[i] += value;
            }
        }
        y.store();
    });
}

/// columns is the unfolded input: grad_input = fold(weight^T * g), grad_weight = sum over images of g * columns^T,
/// grad_bias = the sum of g over all dimensions but the channels.
diopiError_t convolution_backward(diopiContextHandle_t, std::string_view, size_t sides, diopiTensorHandle_t grad_input,
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
        const Geometry g = geometry_of(sides, x.shape(), w.shape(), {stride, padding, dilation, groups});
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
        if (gb && g.out_area() > 0) {
            for (int64_t plane = 0; plane < grad.numel() / g.out_area(); ++plane) {
                const double* from = grad.data() + plane * g.out_area();
                gb[plane % gb.numel()] += pairwise_sum<double>(g.out_area(), [=](int64_t i) { return from[i]; });
            }
        }
        gx.store();
        gw.store();
        gb.store();
    });
}

#include "kernels/entries/conv.inc"

}  // namespace diopi::reference
