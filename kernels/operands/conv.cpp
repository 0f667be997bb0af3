#include "kernels/operands/conv.hpp"

#include <algorithm>
#include <string>

#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

bool ConvShape::is_empty() const {
    return count == 0 || out_channels == 0 || out_area() == 0 || depth() == 0 || area() == 0;
}

bool ConvShape::is_pointwise() const {
    return window.kernel == Sides{1, 1, 1} && window.stride == Sides{1, 1, 1} && window.padding == Sides{0, 0, 0} &&
           in == out;
}

bool ConvShape::has_all_places() const {
    for (size_t side = 0; side < kMostSides; ++side) {
        if (window.places(side, in[side]) != out[side]) return false;
    }
    return true;
}

namespace {

/// Reads what convolutions and transposed ones have in common; refuses an input that is not an image of a floating
/// dtype, a weight of another rank and unsound numbers.
diopiError_t read_window(std::string_view op, size_t sides, const View& input, const View& weight,
                         const ConvArguments& arguments, ConvShape& shape) {
    if (const diopiError_t error = check_computable(op, "input", input); error != diopiSuccess) return error;
    if (!Images::fits(sides, input)) return wrong_shape(op, "input", input.shape, image_shapes(sides));
    if (weight.shape.size() != sides + 2) {
        return wrong_shape(op, "weight", weight.shape, "(out, in / groups, " + std::string(side_names(sides)) + ")");
    }
    shape.sides = sides;
    std::ranges::copy(weight.shape.last(sides), shape.window.kernel.end() - static_cast<std::ptrdiff_t>(sides));
    shape.window.stride = sides_of(sides, arguments.stride, {1, 1, 1});
    shape.window.padding = sides_of(sides, arguments.padding, {0, 0, 0});
    shape.window.dilation = sides_of(sides, arguments.dilation, {1, 1, 1});
    shape.groups = arguments.groups;
    if (shape.window.is_sound() && shape.groups > 0) return diopiSuccess;
    return fail(diopiErrorOccurred, std::string(op) +
                                        ": wanted kernel sides, strides, dilations and groups of at least 1 and "
                                        "paddings of at least 0");
}

/// Refuses an out that is not (count, channels, image), or (channels, image) where the input is a single image.
diopiError_t check_images(std::string_view op, size_t sides, const View& input, const View& out, int64_t count,
                          int64_t channels, const Sides& image) {
    Shape wanted{count, channels};
    wanted.insert(wanted.end(), image.end() - static_cast<std::ptrdiff_t>(sides), image.end());
    const bool has_images = input.shape.size() == sides + 2;
    if (std::ranges::equal(out.shape, has_images ? ShapeView(wanted) : ShapeView(wanted).subspan(1))) {
        return diopiSuccess;
    }
    return wrong_shape(op, "out", out.shape, to_string(wanted));
}

}  // namespace

diopiError_t read_convolution(std::string_view op, size_t sides, const View& input, const View& weight, const View& out,
                              const ConvArguments& arguments, ConvShape& shape) {
    if (const diopiError_t error = read_window(op, sides, input, weight, arguments, shape); error != diopiSuccess) {
        return error;
    }
    const Images images(sides, input);
    shape.count = images.count(), shape.channels = images.channels(), shape.in = images.sides();
    shape.out_channels = weight.shape[0];
    for (size_t side = 0; side < kMostSides; ++side) shape.out[side] = shape.window.places(side, shape.in[side]);
    if (shape.channels % shape.groups != 0 || shape.out_channels % shape.groups != 0 ||
        weight.shape[1] != shape.group_in()) {
        return wrong_shape(op, "weight", weight.shape,
                           "(out, " + std::to_string(shape.channels) + " / groups, " + std::string(side_names(sides)) +
                               ") with sides that " + std::to_string(shape.groups) + " groups divide");
    }
    return check_images(op, sides, input, out, shape.count, shape.out_channels, shape.out);
}

diopiError_t read_transposed(std::string_view op, size_t sides, const View& input, const View& weight, const View& out,
                             const ConvArguments& arguments, diopiSize_t output_padding, ConvShape& shape) {
    if (const diopiError_t error = read_window(op, sides, input, weight, arguments, shape); error != diopiSuccess) {
        return error;
    }
    const Images images(sides, input);
    shape.count = images.count(), shape.out_channels = images.channels(), shape.out = images.sides();
    shape.channels = weight.shape[1] * shape.groups;
    if (weight.shape[0] != shape.out_channels || shape.out_channels % shape.groups != 0) {
        return wrong_shape(op, "weight", weight.shape,
                           "(" + std::to_string(shape.out_channels) + ", out / groups, " +
                               std::string(side_names(sides)) + ") with input channels that " +
                               std::to_string(shape.groups) + " groups divide");
    }
    const Window& w = shape.window;
    const Sides surplus = sides_of(sides, output_padding, {0, 0, 0});
    for (size_t side = 0; side < kMostSides; ++side) {
        shape.in[side] = (shape.out[side] - 1) * w.stride[side] - 2 * w.padding[side] + w.extent(side) + surplus[side];
        const bool is_sound = surplus[side] >= 0 && surplus[side] < std::max(w.stride[side], w.dilation[side]);
        if (is_sound && shape.out[side] > 0 && shape.in[side] > 0) continue;
        return fail(diopiErrorOccurred, std::string(op) +
                                            ": wanted an input and an out with elements, and an output_padding of at "
                                            "least 0 and below stride or dilation");
    }
    return check_images(op, sides, input, out, shape.count, shape.channels, shape.in);
}

diopiError_t check_gradients(std::string_view op, diopiConstTensorHandle_t grad_input, const View& input,
                             diopiConstTensorHandle_t grad_weight, const View& weight) {
    const diopiError_t error = check_shape_or_null(op, "grad_input", grad_input, input.shape);
    return error != diopiSuccess ? error : check_shape_or_null(op, "grad_weight", grad_weight, weight.shape);
}

diopiError_t check_bias(std::string_view op, std::string_view argument, const View& bias, int64_t channels) {
    if (bias.numel == channels) return diopiSuccess;
    return wrong_shape(op, argument, bias.shape, to_string(Shape{channels}));
}

}  // namespace diopi::operands
