#include "kernels/cpu/conv_float64.hpp"

#include <algorithm>

#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/onednn_threads.hpp"

namespace diopi::cpu {

namespace {

/// Groups with fewer output channels than this go by rows: a matrix of so few rows leaves the tiles of gemm empty.
constexpr int64_t kNarrowGroup = 4;

bool by_rows(const ConvShape& shape) { return shape.group_out() < kNarrowGroup; }

/// The windows are the pixels: the matrix of columns is the image itself.
bool is_pointwise(const ConvShape& shape) {
    const Window& w = shape.window;
    return w.kernel == Pair{1, 1} && w.stride == Pair{1, 1} && w.padding == Pair{0, 0};
}

/// Visits each kernel element with the rows that it joins: visit(kernel index, output row, input row, places along the
/// row that are inside, input column of place 0).
template <class Visit>
void for_each_row(const ConvShape& shape, Visit&& visit) {
    const Window& w = shape.window;
    for (int64_t i = 0; i < w.kernel[0]; ++i) {
        const int64_t row_offset = i * w.dilation[0] - w.padding[0];
        const Span rows = inside(shape.out_height, w.stride[0], row_offset, shape.height);
        for (int64_t j = 0; j < w.kernel[1]; ++j) {
            const int64_t column = j * w.dilation[1] - w.padding[1];
            const Span places = inside(shape.out_width, w.stride[1], column, shape.width);
            for (int64_t y = rows.first; y < rows.last; ++y) {
                visit(i * w.kernel[1] + j, y, y * w.stride[0] + row_offset, places, column);
            }
        }
    }
}

/// columns[(channel, kernel element)][output pixel] of one group of one image.
void image_to_columns(const ConvShape& shape, const double* image, double* columns) {
    parallel_for(shape.group_in(), shape.kernel_area() * shape.out_area(), [&](int64_t first, int64_t last) {
        for (int64_t channel = first; channel < last; ++channel) {
            const double* plane = image + channel * shape.area();
            double* to = columns + channel * shape.kernel_area() * shape.out_area();
            std::fill_n(to, shape.kernel_area() * shape.out_area(), 0.0);
            const int64_t stride = shape.window.stride[1];
            for_each_row(shape, [&](int64_t k, int64_t y, int64_t row, Span places, int64_t column) {
                double* line = to + k * shape.out_area() + y * shape.out_width;
                const double* source = plane + row * shape.width + column;
                for (int64_t x = places.first; x < places.last; ++x) line[x] = source[x * stride];
            });
        }
    });
}

/// The adjoint of image_to_columns.
void columns_to_image(const ConvShape& shape, const double* columns, double* image) {
    parallel_for(shape.group_in(), shape.kernel_area() * shape.out_area(), [&](int64_t first, int64_t last) {
        for (int64_t channel = first; channel < last; ++channel) {
            double* plane = image + channel * shape.area();
            const double* from = columns + channel * shape.kernel_area() * shape.out_area();
            std::fill_n(plane, shape.area(), 0.0);
            const int64_t stride = shape.window.stride[1];
            for_each_row(shape, [&](int64_t k, int64_t y, int64_t row, Span places, int64_t column) {
                const double* line = from + k * shape.out_area() + y * shape.out_width;
                double* target = plane + row * shape.width + column;
                for (int64_t x = places.first; x < places.last; ++x) target[x * stride] += line[x];
            });
        }
    });
}

/// Calls body(input plane, output plane, kernel plane, whether it is the first pair for that input, output) for each
/// pair of channels that a group joins.
struct Planes {
    int64_t input, output, kernel;
};

template <class Body>
void for_each_pair(const ConvShape& shape, int64_t image, int64_t group, Body&& body) {
    for (int64_t o = 0; o < shape.group_out(); ++o) {
        for (int64_t i = 0; i < shape.group_in(); ++i) {
            const int64_t out_channel = group * shape.group_out() + o;
            body(Planes{(image * shape.channels + group * shape.group_in() + i) * shape.area(),
                        (image * shape.out_channels + out_channel) * shape.out_area(),
                        (out_channel * shape.group_in() + i) * shape.kernel_area()});
        }
    }
}

int64_t group_work(const ConvShape& shape) { return shape.group_out() * shape.depth() * shape.out_area(); }

void forward_by_rows(const ConvShape& shape, const double* input, const double* weight, double* out) {
    const int64_t stride = shape.window.stride[1];
    parallel_for(shape.count * shape.groups, group_work(shape), [&](int64_t first, int64_t last) {
        for (int64_t at = first; at < last; ++at) {
            for_each_pair(shape, at / shape.groups, at % shape.groups, [&](Planes planes) {
                for_each_row(shape, [&](int64_t k, int64_t y, int64_t row, Span places, int64_t column) {
                    const double factor = weight[planes.kernel + k];
                    double* line = out + planes.output + y * shape.out_width;
                    const double* source = input + planes.input + row * shape.width + column;
                    for (int64_t x = places.first; x < places.last; ++x) line[x] += factor * source[x * stride];
                });
            });
        }
    });
}

void input_by_rows(const ConvShape& shape, const double* grad_out, const double* weight, double* grad_input) {
    const int64_t stride = shape.window.stride[1];
    parallel_for(shape.count * shape.groups, group_work(shape), [&](int64_t first, int64_t last) {
        const int64_t group_size = shape.group_in() * shape.area();
        for (int64_t at = first; at < last; ++at) {
            std::fill_n(grad_input + at * group_size, group_size, 0.0);
            for_each_pair(shape, at / shape.groups, at % shape.groups, [&](Planes planes) {
                for_each_row(shape, [&](int64_t k, int64_t y, int64_t row, Span places, int64_t column) {
                    const double factor = weight[planes.kernel + k];
                    const double* line = grad_out + planes.output + y * shape.out_width;
                    double* target = grad_input + planes.input + row * shape.width + column;
                    for (int64_t x = places.first; x < places.last; ++x) target[x * stride] += factor * line[x];
                });
            });
        }
    });
}

void weight_by_rows(const ConvShape& shape, const double* grad_out, const double* input, double* grad_weight) {
    const int64_t stride = shape.window.stride[1];
    parallel_for(shape.groups, group_work(shape) * shape.count, [&](int64_t first, int64_t last) {
        for (int64_t at = first * shape.count; at < last * shape.count; ++at) {
            for_each_pair(shape, at % shape.count, at / shape.count, [&](Planes planes) {
                for_each_row(shape, [&](int64_t k, int64_t y, int64_t row, Span places, int64_t column) {
                    const double* line = grad_out + planes.output + y * shape.out_width;
                    const double* source = input + planes.input + row * shape.width + column;
                    double sum[4] = {};
                    int64_t x = places.first;
                    for (; x + 4 <= places.last; x += 4) {
                        for (int64_t l = 0; l < 4; ++l) sum[l] += line[x + l] * source[(x + l) * stride];
                    }
                    for (; x < places.last; ++x) sum[0] += line[x] * source[x * stride];
                    grad_weight[planes.kernel + k] += (sum[0] + sum[1]) + (sum[2] + sum[3]);
                });
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

}  // namespace

int64_t conv_workspace(const ConvShape& shape) {
    return by_rows(shape) || is_pointwise(shape) ? 0 : shape.depth() * shape.out_area();
}

void conv_forward(const ConvShape& shape, const double* input, const double* weight, const double* bias, double* out,
                  double* workspace) {
    const int64_t area = shape.out_area();
    for (int64_t plane = 0; plane < shape.count * shape.out_channels; ++plane) {
        std::fill_n(out + plane * area, area, bias == nullptr ? 0.0 : bias[plane % shape.out_channels]);
    }
    if (by_rows(shape)) return forward_by_rows(shape, input, weight, out);
    for_each_group(shape, [&](Planes planes) {
        const double* columns = input + planes.input;
        if (!is_pointwise(shape)) {
            image_to_columns(shape, columns, workspace);
            columns = workspace;
        }
        gemm(shape.group_out(), area, shape.depth(), {weight + planes.kernel, shape.depth(), 1}, {columns, area, 1},
             out + planes.output, area, true);
    });
}

void conv_backward_input(const ConvShape& shape, const double* grad_out, const double* weight, double* grad_input,
                         double* workspace) {
    if (by_rows(shape)) return input_by_rows(shape, grad_out, weight, grad_input);
    const int64_t area = shape.out_area();
    for_each_group(shape, [&](Planes planes) {
        double* columns = is_pointwise(shape) ? grad_input + planes.input : workspace;
        gemm(shape.depth(), area, shape.group_out(), {weight + planes.kernel, 1, shape.depth()},
             {grad_out + planes.output, area, 1}, columns, area, false);
        if (!is_pointwise(shape)) columns_to_image(shape, columns, grad_input + planes.input);
    });
}

void conv_backward_weight(const ConvShape& shape, const double* grad_out, const double* input, double* grad_weight,
                          double* workspace) {
    const int64_t area = shape.out_area();
    std::fill_n(grad_weight, shape.out_channels * shape.depth(), 0.0);
    if (by_rows(shape)) return weight_by_rows(shape, grad_out, input, grad_weight);
    for_each_group(shape, [&](Planes planes) {
        const double* columns = input + planes.input;
        if (!is_pointwise(shape)) {
            image_to_columns(shape, columns, workspace);
            columns = workspace;
        }
        gemm(shape.group_out(), shape.depth(), area, {grad_out + planes.output, area, 1}, {columns, 1, area},
             grad_weight + planes.kernel, shape.depth(), true);
    });
}

}  // namespace diopi::cpu
