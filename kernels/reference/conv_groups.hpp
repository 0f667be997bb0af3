/// Convolutions of one group of one image, by im2col and matrix products; with few channels in a group by plain loops
/// over rows, where a product would be mostly overhead. Images have a depth, a height and a width; where the function's
/// images have fewer sides, the first ones have one element and a kernel of one.
#pragma once

#include "kernels/reference/operand.hpp"

namespace diopi::reference {

/// Output positions [low, high) along one side.
struct Range {
    int64_t low, high;
};

/// One side of the window: position `out` reads input position out * stride - padding + tap * dilation.
struct Side {
    int64_t in = 1, kernel = 1, stride = 1, padding = 0, dilation = 1, out = 1;

    /// The number of windows on `in`; refuses a window that is larger, with the name of the kernel's side.
    void set_output(std::string_view name);
    /// The elements that `out` windows and `surplus` more elements need; refuses numbers that leave no element.
    void set_input(std::string_view name, int64_t surplus);

    [[nodiscard]] int64_t source(int64_t position, int64_t tap) const {
        return position * stride - padding + tap * dilation;
    }
    [[nodiscard]] bool holds(int64_t position) const { return position >= 0 && position < in; }
    /// The positions whose tap falls on the input and not on the padding.
    [[nodiscard]] Range inside(int64_t tap) const;
};

/// A convolution. Its `output` is the input of a transposed one.
struct Geometry {
    int64_t images, groups;
    /// Channels of a group.
    int64_t in_channels, out_channels;
    Side z, y, x;
    /// The shape of the function's result: the output of a convolution, the input gradient of a transposed one.
    Shape result_shape;

    [[nodiscard]] int64_t in_area() const { return z.in * y.in * x.in; }
    [[nodiscard]] int64_t out_area() const { return out_rows() * x.out; }
    [[nodiscard]] int64_t out_rows() const { return z.out * y.out; }
    [[nodiscard]] int64_t taps() const { return z.kernel * y.kernel * x.kernel; }
    /// Terms of an output element: the rows of the unfolded columns.
    [[nodiscard]] int64_t depth() const { return in_channels * taps(); }
    /// Terms of all outputs.
    [[nodiscard]] double terms() const {
        return static_cast<double>(images * groups * out_channels * out_area()) * static_cast<double>(depth());
    }
    [[nodiscard]] bool is_direct() const;
    /// A window of one element that does not move over padding: the input is its own unfolded form.
    [[nodiscard]] bool is_pointwise() const;
    /// Sizes of the parts in which the columns are made.
    [[nodiscard]] int64_t channels_per_tile() const;
    [[nodiscard]] int64_t rows_per_tile() const;
};

/// The arguments that are not tensors.
struct ConvArguments {
    diopiSize_t stride, padding, dilation;
    int64_t groups;
};

/// The convolution of input with weight (Cout, Cin / groups, kernel).
[[nodiscard]] Geometry geometry_of(size_t sides, ShapeView input, ShapeView weight, const ConvArguments& arguments);
/// The convolution whose input gradient is the transposed convolution of input with weight (Cin, Cout / groups,
/// kernel).
[[nodiscard]] Geometry transposed_geometry_of(size_t sides, ShapeView input, ShapeView weight,
                                              const ConvArguments& arguments, diopiSize_t output_padding);
/// The windows of an image that are to be unfolded: a convolution without a weight.
[[nodiscard]] Geometry windows_of(int64_t channels, ShapeView image, diopiSize_t kernel,
                                  const ConvArguments& arguments);

/// columns[(channel, tap)][output position] = the image's element under that tap, 0 outside, for the channels and the
/// output rows in the ranges.
void unfold(const Geometry& g, const double* image, Range channels, Range rows, double* columns);
/// The adjoint of unfold: adds each column element to the image element that it came from.
void fold(const Geometry& g, const double* columns, Range channels, Range rows, double* image);

/// The images' outputs = weight * columns.
void convolve(const Geometry& g, const double* images, const double* weight, double* outputs);
/// grad_weight += the sum over images of grad_outputs * columns^T.
void add_weight_gradient(const Geometry& g, const double* images, const double* grad_outputs, double* grad_weight);
/// grad_images += fold(weight^T * grad_outputs). grad_images has zeros at first.
void add_input_gradient(const Geometry& g, const double* weight, const double* grad_outputs, double* grad_images);

/// Adds bias[channel] to each plane of `area` elements.
void add_bias(const Operand<double>& bias, int64_t area, Output<double>& images);
/// grad_bias[channel] = the sum of its planes of `area` elements.
void sum_planes(const Operand<double>& images, int64_t area, Output<double>& grad_bias);

}  // namespace diopi::reference
