#include "kernels/reference/conv_groups.hpp"

#include <algorithm>
#include <array>

#include "kernels/reference/blas.hpp"
#include "kernels/reference/sides.hpp"
#include "kernels/reference/sum.hpp"
#include "kernels/reference/threads.hpp"

namespace diopi::reference {

namespace {

/// The buffer of unfolded columns holds as many channels as fit in a cache, and as many rows of an image's output as
/// fit in the larger number of bytes.
constexpr int64_t kCacheBytes = int64_t{2} << 20, kColumnBytes = int64_t{1} << 20;
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

/// The image (Cin, sides) of an input (N, Cin, sides) or (Cin, sides).
ShapeView image_of(size_t sides, ShapeView input) {
    if (input.size() == sides + 1 || input.size() == sides + 2) return input.last(sides + 1);
    const std::string image(side_names(sides));
    refuse("input has shape " + to_string(input) + ", wanted (N, Cin, " + image + ") or (Cin, " + image + ")");
}

/// Reads the numbers of the sides, and calls visit(side, its number among all, the name of its kernel) for each side
/// that the images have.
template <class Visit>
void set_sides(size_t sides, ShapeView kernel, const ConvArguments& arguments, Geometry& g, Visit&& visit) {
    const Numbers stride = read_numbers(sides, arguments.stride, "stride", 1);
    const Numbers padding = read_numbers(sides, arguments.padding, "padding", 0);
    const Numbers dilation = read_numbers(sides, arguments.dilation, "dilation", 1);
    Side* const all[] = {&g.z, &g.y, &g.x};
    for (size_t d = 3 - sides; d < 3; ++d) {
        Side& side = *all[d];
        side = {1, kernel[kernel.size() - (3 - d)], stride[d], padding[d], dilation[d], 1};
        visit(side, d, kKernelSide[sides - 1][d]);
    }
}

}  // namespace

void Side::set_output(std::string_view name) {
    const int64_t room = in + 2 * padding - dilation * (kernel - 1) - 1;
    if (kernel < 1 || room < 0) {
        refuse("weight has " + std::string(name) + " " + std::to_string(kernel) +
               ", wanted 1 or more and, with dilation " + std::to_string(dilation) + ", at most the padded input of " +
               std::to_string(in + 2 * padding));
    }
    out = room / stride + 1;
}

void Side::set_input(std::string_view name, int64_t surplus) {
    in = (out - 1) * stride - 2 * padding + dilation * (kernel - 1) + surplus + 1;
    if (out < 1 || kernel < 1 || in < 1 || surplus >= std::max(stride, dilation)) {
        refuse("with " + std::string(name) + " " + std::to_string(kernel) + " and output_padding " +
               std::to_string(surplus) + " an input side of " + std::to_string(out) + " gives " + std::to_string(in) +
               " elements, wanted 1 or more, and an output_padding below stride or dilation");
    }
}

Range Side::inside(int64_t tap) const {
    const int64_t shift = padding - tap * dilation;
    const int64_t low = shift <= 0 ? 0 : (shift + stride - 1) / stride;
    const int64_t last = in - 1 + shift;
    const int64_t high = last < 0 ? 0 : last / stride + 1;
    return {low, std::min(high, out)};
}

bool Geometry::is_direct() const { return in_channels * out_channels <= kDirectPairs; }

bool Geometry::is_pointwise() const {
    const auto stands_still = [](const Side& s) {
        return s.kernel == 1 && s.stride == 1 && s.padding == 0 && s.in == s.out;
    };
    return stands_still(z) && stands_still(y) && stands_still(x);
}

/// Each product reads and writes the output, so its columns have at least twice as many rows as the output has
/// channels.
int64_t Geometry::channels_per_tile() const {
    if (is_pointwise()) return std::max<int64_t>(in_channels, 1);
    const int64_t bytes = std::max<int64_t>(taps() * out_area() * static_cast<int64_t>(sizeof(double)), 1);
    const int64_t least = (2 * out_channels + taps() - 1) / taps();
    return std::clamp<int64_t>(std::max(kCacheBytes / bytes, least), 1, std::max<int64_t>(in_channels, 1));
}

int64_t Geometry::rows_per_tile() const {
    if (is_pointwise()) return std::max<int64_t>(out_rows(), 1);
    const int64_t depth = channels_per_tile() * taps();
    const int64_t row_bytes = std::max<int64_t>(depth * x.out * static_cast<int64_t>(sizeof(double)), 1);
    return std::clamp<int64_t>(kColumnBytes / row_bytes, 1, std::max<int64_t>(out_rows(), 1));
}

Geometry geometry_of(size_t sides, ShapeView input, ShapeView weight, const ConvArguments& arguments) {
    const ShapeView image = image_of(sides, input);
    const int64_t groups = arguments.groups;
    if (groups < 1 || image[0] % groups != 0) {
        refuse("groups is " + std::to_string(groups) + ", wanted a divisor of the " + std::to_string(image[0]) +
               " input channels");
    }
    if (weight.size() != sides + 2 || weight[0] % groups != 0 || weight[1] != image[0] / groups) {
        refuse("weight has shape " + to_string(weight) + ", wanted (Cout, " + std::to_string(image[0] / groups) + ", " +
               std::string(kKernelSides[sides - 1]) + ") with Cout a multiple of " + std::to_string(groups));
    }
    Geometry g{input.size() == sides + 2 ? input[0] : 1, groups, weight[1], weight[0] / groups, {}, {}, {}, {}};
    g.result_shape.assign(input.begin(), input.end());
    g.result_shape[input.size() - sides - 1] = weight[0];
    set_sides(sides, weight.last(sides), arguments, g, [&](Side& side, size_t d, std::string_view name) {
        const size_t from_end = 3 - d;
        side.in = input[input.size() - from_end];
        side.set_output(name);
        g.result_shape[input.size() - from_end] = side.out;
    });
    return g;
}

Geometry transposed_geometry_of(size_t sides, ShapeView input, ShapeView weight, const ConvArguments& arguments,
                                diopiSize_t output_padding) {
    const ShapeView image = image_of(sides, input);
    const int64_t groups = arguments.groups;
    if (groups < 1 || image[0] % groups != 0) {
        refuse("groups is " + std::to_string(groups) + ", wanted a divisor of the " + std::to_string(image[0]) +
               " input channels");
    }
    if (weight.size() != sides + 2 || weight[0] != image[0]) {
        refuse("weight has shape " + to_string(weight) + ", wanted (" + std::to_string(image[0]) + ", Cout / groups, " +
               std::string(kKernelSides[sides - 1]) + ")");
    }
    const Numbers surplus = read_numbers(sides, output_padding, "output_padding", 0);
    Geometry g{input.size() == sides + 2 ? input[0] : 1, groups, weight[1], weight[0] / groups, {}, {}, {}, {}};
    g.result_shape.assign(input.begin(), input.end());
    g.result_shape[input.size() - sides - 1] = weight[1] * groups;
    set_sides(sides, weight.last(sides), arguments, g, [&](Side& side, size_t d, std::string_view name) {
        const size_t from_end = 3 - d;
        side.out = input[input.size() - from_end];
        side.set_input(name, surplus[d]);
        g.result_shape[input.size() - from_end] = side.in;
    });
    return g;
}

Geometry windows_of(int64_t channels, ShapeView image, diopiSize_t kernel, const ConvArguments& arguments) {
    const size_t sides = image.size();
    Geometry g{1, 1, channels, 1, {}, {}, {}, {}};
    const Numbers taps = read_numbers(sides, kernel, "kernel_size", 1);
    set_sides(sides, ShapeView(taps).last(sides), arguments, g, [&](Side& side, size_t d, std::string_view name) {
        side.in = image[image.size() - (3 - d)];
        side.set_output(name);
    });
    return g;
}

namespace {

/// The rows of the unfolded columns that one channel and one tap have in one plane of the output, as far as they lie
/// on the image, or on the padding before or behind it.
struct ColumnRows {
    int64_t count = 0;   ///< of x.out columns each
    int64_t first = -1;  ///< offset in the image of the first position inside; -1: none is
    int64_t step = 0;    ///< from there to that of the next row
    Range x{0, 0};       ///< the positions inside, of each row
};

/// Calls visit(rows) for the unfolded columns in their order: for each of the channels and each tap, the output rows in
/// `rows`.
template <class Visit>
void for_each_column_rows(const Geometry& g, Range channels, Range rows, Visit&& visit) {
    for (int64_t k = channels.low * g.taps(); k < channels.high * g.taps(); ++k) {
        const int64_t j = k % g.x.kernel;
        const int64_t i = k / g.x.kernel % g.y.kernel;
        const int64_t h = k / (g.x.kernel * g.y.kernel) % g.z.kernel;
        const int64_t c = k / g.taps();
        const Range x = g.x.inside(j), y = g.y.inside(i);
        const int64_t corner = c * g.in_area() + g.x.source(x.low, j);
        for (int64_t row = rows.low; row < rows.high;) {
            const int64_t oz = row / g.y.out, iz = g.z.source(oz, h);
            const int64_t begin = row - oz * g.y.out, end = std::min(g.y.out, rows.high - oz * g.y.out);
            const bool is_inside = g.z.holds(iz) && x.low < x.high;
            const int64_t low = is_inside ? std::clamp(y.low, begin, end) : end;
            const int64_t high = std::clamp(y.high, low, end);
            if (low > begin) visit(ColumnRows{low - begin});
            const int64_t first = corner + (iz * g.y.in + g.y.source(low, i)) * g.x.in;
            if (high > low) visit(ColumnRows{high - low, first, g.y.stride * g.x.in, x});
            if (end > high) visit(ColumnRows{end - high});
            row += end - begin;
        }
    }
}

/// Calls work(n, offset in the image, offset in the columns, stride) for the pieces of the rows that lie inside; a
/// stride of 1 is a constant, for which a loop becomes one of vectors.
template <class Work>
void for_each_piece(const Geometry& g, const ColumnRows& rows, Work&& work) {
    const int64_t n = rows.x.high - rows.x.low;
    const std::integral_constant<int64_t, 1> one;
    if (g.x.stride == 1 && n == g.x.out && n == rows.step) return work(rows.count * n, rows.first, 0, one);
    for (int64_t row = 0; row < rows.count; ++row) {
        const int64_t from = rows.first + row * rows.step, to = row * g.x.out + rows.x.low;
        if (g.x.stride == 1)
            work(n, from, to, one);
        else
            work(n, from, to, g.x.stride);
    }
}

}  // namespace

void unfold(const Geometry& g, const double* image, Range channels, Range rows, double* columns) {
    for_each_column_rows(g, channels, rows, [&](const ColumnRows& part) {
        const int64_t size = part.count * g.x.out;
        if (part.x.high - part.x.low < g.x.out) std::fill_n(columns, size, 0.0);
        if (part.first >= 0) {
            for_each_piece(g, part, [&](int64_t n, int64_t from, int64_t to, auto stride) {
                for (int64_t k = 0; k < n; ++k) columns[to + k] = image[from + k * stride];
            });
        }
        columns += size;
    });
}

void fold(const Geometry& g, const double* columns, Range channels, Range rows, double* image) {
    for_each_column_rows(g, channels, rows, [&](const ColumnRows& part) {
        if (part.first >= 0) {
            for_each_piece(g, part, [&](int64_t n, int64_t from, int64_t to, auto stride) {
                for (int64_t k = 0; k < n; ++k) image[from + k * stride] += columns[to + k];
            });
        }
        columns += part.count * g.x.out;
    });
}

namespace {

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

/// to += factor * from, for n elements; at least one of both has steps of 1.
void add_multiple(int64_t n, double factor, const double* __restrict from, int64_t from_step, double* __restrict to,
                  int64_t to_step) {
    if (from_step == 1 && to_step == 1) {
        for (int64_t k = 0; k < n; ++k) to[k] += factor * from[k];
    } else {
        for (int64_t k = 0; k < n; ++k) to[k * to_step] += factor * from[k * from_step];
    }
}

void convolve_direct(const Geometry& g, const double* image, const double* weight, double* out) {
    std::fill_n(out, g.out_channels * g.out_area(), 0.0);
    for_each_run(g, [&](int64_t at_weight, int64_t at_out, int64_t at_in, int64_t n) {
        add_multiple(n, weight[at_weight], image + at_in, g.x.stride, out + at_out, 1);
    });
}

void add_weight_gradient_direct(const Geometry& g, const double* image, const double* grad, double* grad_weight) {
    for_each_run(g, [&](int64_t at_weight, int64_t at_out, int64_t at_in, int64_t n) {
        const double* from = image + at_in;
        const double* along = grad + at_out;
        grad_weight[at_weight] +=
            pairwise_sum<double>(n, [=, step = g.x.stride](int64_t k) { return along[k] * from[k * step]; });
    });
}

void add_input_gradient_direct(const Geometry& g, const double* weight, const double* grad, double* grad_image) {
    for_each_run(g, [&](int64_t at_weight, int64_t at_out, int64_t at_in, int64_t n) {
        add_multiple(n, weight[at_weight], grad + at_out, 1, grad_image + at_in, g.x.stride);
    });
}

/// The parts in which the columns of one image's group are made: some channels, at some output rows.
struct Tiles {
    explicit Tiles(const Geometry& geometry)
        : g(geometry),
          channels(g.is_direct() ? all_channels() : g.channels_per_tile()),
          rows(g.is_direct() ? all_rows() : g.rows_per_tile()) {}

    [[nodiscard]] int64_t all_channels() const { return std::max<int64_t>(g.in_channels, 1); }
    [[nodiscard]] int64_t all_rows() const { return std::max<int64_t>(g.out_rows(), 1); }
    /// Numbers of parts. Without channels there is one product, of no terms.
    [[nodiscard]] int64_t along_channels() const { return (all_channels() + channels - 1) / channels; }
    [[nodiscard]] int64_t along_rows() const { return (all_rows() + rows - 1) / rows; }

    const Geometry& g;
    int64_t channels, rows;  ///< of a part
};

/// A part of the columns.
struct Tile {
    Tile(const Tiles& tiles, int64_t channel_part, int64_t row_part)
        : channels(range(channel_part, tiles.channels, tiles.g.in_channels)),
          rows(range(row_part, tiles.rows, tiles.g.out_rows())),
          first(channels.low * tiles.g.taps()),
          depth((channels.high - channels.low) * tiles.g.taps()),
          pitch((rows.high - rows.low) * tiles.g.x.out),
          position(rows.low * tiles.g.x.out) {}

    static Range range(int64_t part, int64_t size, int64_t end) {
        return {part * size, std::min((part + 1) * size, end)};
    }

    Range channels, rows;
    int64_t first;     ///< row of the columns
    int64_t depth;     ///< rows
    int64_t pitch;     ///< elements of a row
    int64_t position;  ///< of its first output
};

/// The elements of such a tile of an image.
const double* columns_of(const Geometry& g, const double* image, const Tile& tile, std::vector<double>& buffer) {
    if (g.is_pointwise()) return image;
    buffer.resize(static_cast<size_t>(tile.depth * tile.pitch));
    unfold(g, image, tile.channels, tile.rows, buffer.data());
    return buffer.data();
}

/// Where a group of an image begins, in the tensors of a convolution.
struct Place {
    Place(const Geometry& g, int64_t image, int64_t group)
        : input((image * g.groups + group) * g.in_channels * g.in_area()),
          weight(group * g.out_channels * g.depth()),
          output((image * g.groups + group) * g.out_channels * g.out_area()) {}

    int64_t input, weight, output;
};

}  // namespace

/// A part is a group of an image at some output rows.
void convolve(const Geometry& g, const double* images, const double* weight, double* outputs) {
    const Tiles tiles(g);
    const int64_t parts = tiles.along_rows();
    for_each_in_threads(g.images * g.groups * parts, g.terms(), [&](int64_t i, std::vector<double>& buffer) {
        const Place at(g, i / parts / g.groups, i / parts % g.groups);
        if (g.is_direct()) return convolve_direct(g, images + at.input, weight + at.weight, outputs + at.output);
        for (int64_t c = 0; c < tiles.along_channels(); ++c) {
            const Tile tile(tiles, c, i % parts);
            multiply(g.out_channels, tile.pitch, tile.depth, {weight + at.weight + tile.first, g.depth()},
                     {columns_of(g, images + at.input, tile, buffer), tile.pitch}, outputs + at.output + tile.position,
                     g.out_area(), c > 0);
        }
    });
}

/// A part is some input channels of a group, for all images.
void add_weight_gradient(const Geometry& g, const double* images, const double* grad_outputs, double* grad_weight) {
    const Tiles tiles(g);
    const int64_t parts = tiles.along_channels();
    for_each_in_threads(g.groups * parts, g.terms(), [&](int64_t i, std::vector<double>& buffer) {
        for (int64_t image = 0; image < g.images; ++image) {
            const Place at(g, image, i / parts);
            const double* from = images + at.input;
            const double* grad = grad_outputs + at.output;
            double* to = grad_weight + at.weight;
            if (g.is_direct()) {
                add_weight_gradient_direct(g, from, grad, to);
                continue;
            }
            for (int64_t r = 0; r < tiles.along_rows(); ++r) {
                const Tile tile(tiles, i % parts, r);
                multiply(g.out_channels, tile.depth, tile.pitch, {grad + tile.position, g.out_area()},
                         {columns_of(g, from, tile, buffer), tile.pitch, true}, to + tile.first, g.depth(), true);
            }
        }
    });
}

/// A part is some input channels of a group of an image.
void add_input_gradient(const Geometry& g, const double* weight, const double* grad_outputs, double* grad_images) {
    const Tiles tiles(g);
    const int64_t parts = tiles.along_channels();
    for_each_in_threads(g.images * g.groups * parts, g.terms(), [&](int64_t i, std::vector<double>& buffer) {
        const Place at(g, i / parts / g.groups, i / parts % g.groups);
        const double* grad = grad_outputs + at.output;
        double* to = grad_images + at.input;
        if (g.is_direct()) return add_input_gradient_direct(g, weight + at.weight, grad, to);
        if (g.is_pointwise()) {
            return multiply(g.depth(), g.out_area(), g.out_channels, {weight + at.weight, g.depth(), true},
                            {grad, g.out_area()}, to, g.in_area(), false);
        }
        for (int64_t r = 0; r < tiles.along_rows(); ++r) {
            const Tile tile(tiles, i % parts, r);
            buffer.resize(static_cast<size_t>(tile.depth * tile.pitch));
            multiply(tile.depth, tile.pitch, g.out_channels, {weight + at.weight + tile.first, g.depth(), true},
                     {grad + tile.position, g.out_area()}, buffer.data(), tile.pitch, false);
            fold(g, buffer.data(), tile.channels, tile.rows, to);
        }
    });
}

void add_bias(const Operand<double>& bias, int64_t area, Output<double>& images) {
    if (!bias || area == 0) return;
    for (int64_t plane = 0; plane < images.numel() / area; ++plane) {
        double* to = images.data() + plane * area;
        const double value = bias[plane % bias.numel()];
        for (int64_t i = 0; i < area; ++i) to[i] += value;
    }
}

void sum_planes(const Operand<double>& images, int64_t area, Output<double>& grad_bias) {
    if (!grad_bias || area == 0) return;
    for (int64_t plane = 0; plane < images.numel() / area; ++plane) {
        const double* from = images.data() + plane * area;
        grad_bias[plane % grad_bias.numel()] += pairwise_sum<double>(area, [=](int64_t i) { return from[i]; });
    }
}

}  // namespace diopi::reference
