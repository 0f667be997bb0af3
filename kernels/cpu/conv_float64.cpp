#include "kernels/cpu/conv_float64.hpp"

#include <algorithm>

#include "kernels/cpu/conv_columns.hpp"
#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/threads.hpp"

namespace diopi::cpu {

using namespace operands;

namespace {

/// Groups with fewer output channels than this are computed by rows: a matrix of so few rows leaves the tiles of gemm
/// empty.
constexpr int64_t kNarrowGroup = 4;

/// The columns of some channels are made at a time, so that they stay in a cache.
constexpr int64_t kColumnBytes = int64_t{2} << 20;

/// The number of these channels. Each product reads and writes the output, so its columns have at least twice as many
/// rows as the output has channels.
int64_t channels_at_a_time(const ConvShape& shape) {
    const int64_t taps = shape.window.taps(), bytes = taps * shape.out_area() * static_cast<int64_t>(sizeof(double));
    const int64_t least = (2 * shape.group_out() + taps - 1) / taps;
    return std::clamp<int64_t>(std::max(kColumnBytes / std::max<int64_t>(bytes, 1), least), 1,
                               std::max<int64_t>(shape.group_in(), 1));
}

bool by_rows(const ConvShape& shape) { return shape.group_out() < kNarrowGroup; }

/// Offsets of an input plane, an output plane and a kernel plane.
struct Planes {
    int64_t input, output, kernel;
};

/// Calls body(planes, lines) for the lines of each pair of channels that a group joins.
template <class Body>
void for_each_pair(const ConvShape& shape, int64_t image, int64_t group, Body&& body) {
    for (int64_t o = 0; o < shape.group_out(); ++o) {
        for (int64_t i = 0; i < shape.group_in(); ++i) {
            const int64_t out_channel = group * shape.group_out() + o;
            const Planes planes{(image * shape.channels + group * shape.group_in() + i) * shape.area(),
                                (image * shape.out_channels + out_channel) * shape.out_area(),
                                (out_channel * shape.group_in() + i) * shape.window.taps()};
            for_each_lines(shape, [&](const Lines& lines) { body(planes, lines); });
        }
    }
}

int64_t group_work(const ConvShape& shape) { return shape.group_out() * shape.depth() * shape.out_area(); }

void forward_by_rows(const ConvShape& shape, const double* input, const double* weight, double* out) {
    parallel_for(shape.count * shape.groups, group_work(shape), [&](int64_t first, int64_t last) {
        for (int64_t at = first; at < last; ++at) {
            for_each_pair(shape, at / shape.groups, at % shape.groups, [&](const Planes& planes, const Lines& lines) {
                const double factor = weight[planes.kernel + lines.kernel_element];
                const double* from = input + planes.input;
                double* to = out + planes.output;
                for_each_place_of(lines, [=](int64_t place, int64_t element) { to[place] += factor * from[element]; });
            });
        }
    });
}

void input_by_rows(const ConvShape& shape, const double* grad_out, const double* weight, double* grad_input) {
    parallel_for(shape.count * shape.groups, group_work(shape), [&](int64_t first, int64_t last) {
        const int64_t group_size = shape.group_in() * shape.area();
        std::fill_n(grad_input + first * group_size, (last - first) * group_size, 0.0);
        for (int64_t at = first; at < last; ++at) {
            for_each_pair(shape, at / shape.groups, at % shape.groups, [&](const Planes& planes, const Lines& lines) {
                const double factor = weight[planes.kernel + lines.kernel_element];
                const double* from = grad_out + planes.output;
                double* to = grad_input + planes.input;
                for_each_place_of(lines, [=](int64_t place, int64_t element) { to[element] += factor * from[place]; });
            });
        }
    });
}

/// Sums each line in parts.
double sum_of_products(const Lines& lines, const double* grad_out, const double* input) {
    double total = 0;
    for (int64_t y = 0; y < lines.count; ++y) {
        const double* line = grad_out + lines.place + y * lines.next_line;
        const double* source = input + lines.element + y * lines.next_line_element;
        double sum[4] = {};
        int64_t x = 0;
        for (; x + 4 <= lines.length; x += 4) {
            for (int64_t l = 0; l < 4; ++l) sum[l] += line[x + l] * source[(x + l) * lines.next_element];
        }
        for (; x < lines.length; ++x) sum[0] += line[x] * source[x * lines.next_element];
        total += (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
    return total;
}

void weight_by_rows(const ConvShape& shape, const double* grad_out, const double* input, double* grad_weight) {
    parallel_for(shape.groups, group_work(shape) * shape.count, [&](int64_t first, int64_t last) {
        for (int64_t at = first * shape.count; at < last * shape.count; ++at) {
            for_each_pair(shape, at % shape.count, at / shape.count, [&](const Planes& planes, const Lines& lines) {
                grad_weight[planes.kernel + lines.kernel_element] +=
                    sum_of_products(lines, grad_out + planes.output, input + planes.input);
            });
        }
    });
}

/// Calls body(image's group of channels, output's group, first element of the group's weight) for every group.
template <class Body>
void for_each_group(const ConvShape& shape, Body&& body) {
    for (int64_t image = 0; image < shape.count; ++image) {
        for (int64_t group = 0; group < shape.groups; ++group) {
            const int64_t at = image * shape.groups + group;
            body(Planes{at * shape.group_in() * shape.area(), at * shape.group_out() * shape.out_area(),
                        group * shape.group_out() * shape.depth()});
        }
    }
}

/// Calls body(first channel, channels, their first row of the unfolded columns, rows) for the channels of a group. A
/// pointwise convolution needs no columns, and takes all of them at once.
template <class Body>
void for_each_block(const ConvShape& shape, Body&& body) {
    const int64_t taps = shape.window.taps(),
                  step = shape.is_pointwise() ? shape.group_in() : channels_at_a_time(shape);
    for (int64_t first = 0; first < shape.group_in(); first += step) {
        const int64_t channels = std::min(step, shape.group_in() - first);
        body(first, channels, first * taps, channels * taps);
    }
}

}  // namespace

int64_t conv_workspace(const ConvShape& shape) {
    if (by_rows(shape) || shape.is_pointwise()) return 0;
    return channels_at_a_time(shape) * shape.window.taps() * shape.out_area();
}

void conv_forward(const ConvShape& shape, const double* input, const double* weight, const double* bias, double* out,
                  double* workspace) {
    const int64_t area = shape.out_area();
    for (int64_t plane = 0; plane < shape.count * shape.out_channels; ++plane) {
        std::fill_n(out + plane * area, area, bias == nullptr ? 0.0 : bias[plane % shape.out_channels]);
    }
    if (by_rows(shape)) return forward_by_rows(shape, input, weight, out);
    for_each_group(shape, [&](Planes planes) {
        for_each_block(shape, [&](int64_t first, int64_t channels, int64_t row, int64_t rows) {
            const double* columns = input + planes.input + first * shape.area();
            if (!shape.is_pointwise()) {
                image_to_columns(shape, channels, columns, workspace);
                columns = workspace;
            }
            gemm(shape.group_out(), area, rows, {weight + planes.kernel + row, shape.depth(), 1}, {columns, area, 1},
                 out + planes.output, area, true);
        });
    });
}

void conv_backward_input(const ConvShape& shape, const double* grad_out, const double* weight, double* grad_input,
                         double* workspace) {
    if (by_rows(shape)) return input_by_rows(shape, grad_out, weight, grad_input);
    const int64_t area = shape.out_area();
    for_each_group(shape, [&](Planes planes) {
        for_each_block(shape, [&](int64_t first, int64_t channels, int64_t row, int64_t rows) {
            double* image = grad_input + planes.input + first * shape.area();
            double* columns = shape.is_pointwise() ? image : workspace;
            gemm(rows, area, shape.group_out(), {weight + planes.kernel + row, 1, shape.depth()},
                 {grad_out + planes.output, area, 1}, columns, area, false);
            if (!shape.is_pointwise()) columns_to_image(shape, channels, columns, image);
        });
    });
}

void conv_backward_weight(const ConvShape& shape, const double* grad_out, const double* input, double* grad_weight,
                          double* workspace) {
    const int64_t area = shape.out_area();
    std::fill_n(grad_weight, shape.out_channels * shape.depth(), 0.0);
    if (by_rows(shape)) return weight_by_rows(shape, grad_out, input, grad_weight);
    for_each_group(shape, [&](Planes planes) {
        for_each_block(shape, [&](int64_t first, int64_t channels, int64_t row, int64_t rows) {
            const double* columns = input + planes.input + first * shape.area();
            if (!shape.is_pointwise()) {
                image_to_columns(shape, channels, columns, workspace);
                columns = workspace;
            }
            gemm(shape.group_out(), rows, area, {grad_out + planes.output, area, 1}, {columns, 1, area},
                 grad_weight + planes.kernel + row, shape.depth(), true);
        });
    });
}

}  // namespace diopi::cpu
