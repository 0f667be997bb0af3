#include "kernels/operands/conv.hpp"

#include <algorithm>
#include <string>

#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

bool ConvShape::is_empty() const {
    return count == 0 || out_channels == 0 || out_area() == 0 || depth() == 0 || area() == 0;
}

bool ConvShape::is_pointwise() const {
    return window.kernel == Sides{1, 1, 1} && window.stride == Sides{1, 1, 1} && window.padding == Sides{0, 0, 0};
}

diopiError_t read_convolution(std::string_view op, size_t sides, const View& input, const View& weight, const View& out,
                              const ConvArguments& arguments, ConvShape& shape) {
    if (const diopiError_t error = check_computable(op, "input", input); error != diopiSuccess) return error;
    if (!Images::fits(sides, input)) return wrong_shape(op, "input", input.shape, image_shapes(sides));
    const std::string kernel(side_names(sides));
    if (weight.shape.size() != sides + 2) {
        return wrong_shape(op, "weight", weight.shape, "(out, in / groups, " + kernel + ")");
    }
    shape.sides = sides;
    std::ranges::copy(weight.shape.last(sides), shape.window.kernel.end() - static_cast<std::ptrdiff_t>(sides));
    shape.window.stride = sides_of(sides, arguments.stride, {1, 1, 1});
    shape.window.padding = sides_of(sides, arguments.padding, {0, 0, 0});
    shape.window.dilation = sides_of(sides, arguments.dilation, {1, 1, 1});
    shape.groups = arguments.groups;
    if (!shape.window.is_sound() || shape.groups <= 0) {
        return fail(diopiErrorOccurred, std::string(op) +
                                            ": wanted kernel sides, strides, dilations and groups of at least 1 and "
                                            "paddings of at least 0");
    }
    const Images images(sides, input);
    shape.count = images.count(), shape.channels = images.channels(), shape.in = images.sides();
    shape.out_channels = weight.shape[0];
    for (size_t side = 0; side < kMostSides; ++side) shape.out[side] = shape.window.places(side, shape.in[side]);
    if (shape.channels % shape.groups != 0 || shape.out_channels % shape.groups != 0 ||
        weight.shape[1] != shape.group_in()) {
        return wrong_shape(op, "weight", weight.shape,
                           "(out, " + std::to_string(shape.channels) + " / groups, " + kernel + ") with sides that " +
                               std::to_string(shape.groups) + " groups divide");
    }
    Shape wanted{shape.count, shape.out_channels};
    wanted.insert(wanted.end(), shape.out.end() - static_cast<std::ptrdiff_t>(sides), shape.out.end());
    const bool has_images = input.shape.size() == sides + 2;
    if (!std::ranges::equal(out.shape, has_images ? ShapeView(wanted) : ShapeView(wanted).subspan(1))) {
        return wrong_shape(op, "out", out.shape, to_string(wanted));
    }
    return diopiSuccess;
}

diopiError_t check_gradients(std::string_view op, diopiConstTensorHandle_t grad_input, const View& input,
                             diopiConstTensorHandle_t grad_weight, const View& weight) {
    const diopiError_t error = check_shape_or_null(op, "grad_input", grad_input, input.shape);
    return error != diopiSuccess ? error : check_shape_or_null(op, "grad_weight", grad_weight, weight.shape);
}

diopiError_t check_bias(std::string_view op, std::string_view argument, const View& bias, const ConvShape& shape) {
    if (bias.numel == shape.out_channels) return diopiSuccess;
    return wrong_shape(op, argument, bias.shape, to_string(Shape{shape.out_channels}));
}

}  // namespace diopi::operands
