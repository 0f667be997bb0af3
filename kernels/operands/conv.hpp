/// The arguments of convolutions, checked, and their sizes. Shared by the backends cpu and cuda.
#pragma once

#include <string_view>

#include "kernels/operands/window.hpp"

namespace diopi::operands {

/// The arguments of a convolution that are not tensors. Each list holds one number for all sides, or one for each.
struct ConvArguments {
    diopiSize_t stride, padding, dilation;
    int64_t groups;
};

/// Sizes of a convolution of `sides` sides. input: (count, channels, in), weight: (out_channels, channels / groups,
/// kernel), out: (count, out_channels, out).
struct ConvShape {
    size_t sides = 2;
    int64_t count = 1, channels = 1, out_channels = 1, groups = 1;
    Sides in{1, 1, 1}, out{1, 1, 1};
    Window window;

    [[nodiscard]] int64_t group_in() const { return channels / groups; }
    [[nodiscard]] int64_t group_out() const { return out_channels / groups; }
    [[nodiscard]] int64_t area() const { return area_of(in); }
    [[nodiscard]] int64_t out_area() const { return area_of(out); }
    /// Terms of each sum of the forward.
    [[nodiscard]] int64_t depth() const { return group_in() * window.taps(); }
    /// Whether input, weight or out has no element.
    [[nodiscard]] bool is_empty() const;
    /// Whether each window is one element and they are all elements: a matrix product for each image and group.
    [[nodiscard]] bool is_pointwise() const;
    /// Whether out has all places of the window on in. A transposed convolution may lack some.
    [[nodiscard]] bool has_all_places() const;
};

/// Refuses an input that is not an image of a floating dtype, and a weight, numbers or an out that do not fit it.
[[nodiscard]] diopiError_t read_convolution(std::string_view op, size_t sides, const View& input, const View& weight,
                                            const View& out, const ConvArguments& arguments, ConvShape& shape);
/// The same for a transposed convolution, as the convolution whose input gradient it is: `shape.out` is of the
/// function's input, `shape.in` of its out. weight: (out_channels, channels / groups, kernel).
[[nodiscard]] diopiError_t read_transposed(std::string_view op, size_t sides, const View& input, const View& weight,
                                           const View& out, const ConvArguments& arguments, diopiSize_t output_padding,
                                           ConvShape& shape);
/// Refuses gradients of another shape than their tensors; each may be null.
[[nodiscard]] diopiError_t check_gradients(std::string_view op, diopiConstTensorHandle_t grad_input, const View& input,
                                           diopiConstTensorHandle_t grad_weight, const View& weight);
/// Refuses a bias, or its gradient, without one element for each of the channels.
[[nodiscard]] diopiError_t check_bias(std::string_view op, std::string_view argument, const View& bias,
                                      int64_t channels);

}  // namespace diopi::operands
