#include <algorithm>

#include "infer/rules.hpp"

namespace diopi::infer_rules {

namespace {

/// The weight's channels of all groups; -1 when they are too many for any tensor.
int64_t channels_of(const Tensor& weight, int64_t groups) {
    int64_t channels = 0;
    return __builtin_mul_overflow(weight.shape[1], groups, &channels) ? -1 : channels;
}

/// Refuses images and weights of different ranks, and brings the lists of numbers to one number for each spatial dim.
Status check_ranks(Call& call, std::initializer_list<const char*> lists, const char* weight_shape) {
    const Tensor& input = *call.tensor("input");
    const Tensor& weight = *call.tensor("weight");
    if (input.rank() < 3 || weight.rank() != input.rank()) {
        return contradiction(call, "input " + to_string(input.shape) + " and weight " + to_string(weight.shape) +
                                       " must be (N, C, *) and " + weight_shape + " of the same rank");
    }
    for (const char* arg : lists) {
        if (Status s = spread(call, arg, input.shape.size() - 2); !s.ok()) return s;
    }
    return {};
}

Status check_bias(const Call& call, int64_t channels) {
    const Tensor* bias = call.tensor("bias");
    if (bias == nullptr || bias->shape == Shape{channels}) return {};
    return contradiction(call, "bias " + to_string(bias->shape) + " must be (" + std::to_string(channels) + ",)");
}

/// Elements of a side of a transposed convolution: (size - 1) stride - 2 padding + dilation (kernel - 1) +
/// output_padding + 1. 0 where the numbers are too large for any tensor.
int64_t spread_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, int64_t surplus) {
    int64_t steps = 0, reach = 0, total = 0;
    bool beyond = __builtin_mul_overflow(size - 1, stride, &steps);
    beyond |= __builtin_mul_overflow(dilation, kernel - 1, &reach);
    beyond |= __builtin_add_overflow(steps, reach, &total);
    beyond |= __builtin_add_overflow(total, surplus, &total);
    beyond |= __builtin_add_overflow(total, 1, &total);
    beyond |= __builtin_mul_overflow(2, padding, &reach);
    beyond |= __builtin_sub_overflow(total, reach, &total);
    return beyond ? 0 : total;
}

/// The windows of an image of these sizes, all together, by the call's kernel_size, stride, padding and dilation.
Result<int64_t> image_windows(const Call& call, ShapeView sides) {
    int64_t windows = 1;
    for (size_t i = 0; i < sides.size(); ++i) {
        const int64_t kernel = (*call.ints("kernel_size"))[i], stride = (*call.ints("stride"))[i];
        const int64_t padding = (*call.ints("padding"))[i], dilation = (*call.ints("dilation"))[i];
        if (kernel <= 0 || stride <= 0 || dilation <= 0 || padding < 0 || sides[i] <= 0) {
            return contradiction(call,
                                 "the image, kernel_size, stride and dilation must be positive and padding must not "
                                 "be negative");
        }
        const int64_t count = window_count(sides[i], kernel, stride, padding, dilation);
        if (count == 0 || __builtin_mul_overflow(windows, count, &windows)) {
            return contradiction(call, "an image " + to_string(Shape(sides.begin(), sides.end())) +
                                           " has no window of these numbers, or too many");
        }
    }
    return windows;
}

Status spread_window(Call& call) {
    for (const char* arg : {"kernel_size", "stride", "padding", "dilation"}) {
        if (Status s = spread(call, arg, 2); !s.ok()) return s;
    }
    return {};
}

/// The elements of a window of two sides; 0 where they are too many for any tensor.
int64_t taps_of(const Call& call) {
    const IntList& kernel = *call.ints("kernel_size");
    int64_t taps = 0;
    return __builtin_mul_overflow(kernel[0], kernel[1], &taps) ? 0 : taps;
}

}  // namespace

/// out[i] = floor((input[i] + 2 padding - dilation (kernel - 1) - 1) / stride) + 1. Source: torch.nn.Conv2d.
Specs convolution(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const Tensor& weight = *call.tensor("weight");
    if (Status s = check_ranks(call, {"stride", "padding", "dilation"}, "(K, C / groups, *)"); !s.ok())
        return s.error();
    const size_t spatial = input.shape.size() - 2;
    const int64_t groups = call.integer("groups", 1);
    if (groups <= 0 || input.shape[1] != channels_of(weight, groups) || weight.shape[0] % groups != 0) {
        return contradiction(call, "input has " + std::to_string(input.shape[1]) + " channels, weight " +
                                       to_string(weight.shape) + " with groups " + std::to_string(groups) + " wants " +
                                       std::to_string(channels_of(weight, groups)));
    }
    Shape shape = {input.shape[0], weight.shape[0]};
    for (size_t i = 0; i < spatial; ++i) {
        const int64_t stride = (*call.ints("stride"))[i];
        const int64_t padding = (*call.ints("padding"))[i];
        const int64_t dilation = (*call.ints("dilation"))[i];
        const bool is_valid = stride > 0 && dilation > 0 && padding >= 0;
        const int64_t count =
            is_valid ? window_count(input.shape[i + 2], weight.shape[i + 2], stride, padding, dilation) : 0;
        if (count == 0) {
            return contradiction(call, "the kernel " + to_string(weight.shape) + " with stride " +
                                           std::to_string(stride) + ", padding " + std::to_string(padding) +
                                           " and dilation " + std::to_string(dilation) + " does not fit into input " +
                                           to_string(input.shape) + " at spatial dim " + std::to_string(i));
        }
        shape.push_back(count);
    }
    if (Status s = check_bias(call, weight.shape[0]); !s.ok()) return s.error();
    return one(call, "out", {std::move(shape), input.dtype, {}});
}

/// The input of a convolution whose output has the sizes of this input. An output_padding below the stride, or below
/// the dilation, adds elements that no window of it wholly covers. Source: torch.nn.ConvTranspose2d.
Specs conv_transpose(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const Tensor& weight = *call.tensor("weight");
    const auto lists = {"stride", "padding", "output_padding", "dilation"};
    if (Status s = check_ranks(call, lists, "(C, K / groups, *)"); !s.ok()) return s.error();
    const int64_t groups = call.integer("groups", 1), channels = channels_of(weight, groups);
    if (groups <= 0 || input.shape[1] != weight.shape[0] || weight.shape[0] % groups != 0 || channels < 0) {
        return contradiction(call, "input has " + std::to_string(input.shape[1]) + " channels, weight " +
                                       to_string(weight.shape) + " wants " + std::to_string(weight.shape[0]) +
                                       ", a multiple of groups " + std::to_string(groups));
    }
    Shape shape = {input.shape[0], channels};
    for (size_t i = 0; i + 2 < input.shape.size(); ++i) {
        const int64_t stride = (*call.ints("stride"))[i], padding = (*call.ints("padding"))[i];
        const int64_t dilation = (*call.ints("dilation"))[i], surplus = (*call.ints("output_padding"))[i];
        const int64_t size = input.shape[i + 2], kernel = weight.shape[i + 2];
        const bool is_valid = stride > 0 && dilation > 0 && padding >= 0 && surplus >= 0 && size > 0 && kernel > 0;
        if (!is_valid || surplus >= std::max(stride, dilation)) {
            return contradiction(
                call,
                "sizes, stride and dilation must be positive, padding not negative, and output_padding "
                "below stride or dilation");
        }
        shape.push_back(spread_size(size, kernel, stride, padding, dilation, surplus));
        if (shape.back() <= 0) {
            return contradiction(call, "the output of input " + to_string(input.shape) + " and weight " +
                                           to_string(weight.shape) + " has no element at spatial dim " +
                                           std::to_string(i));
        }
    }
    if (Status s = check_bias(call, channels); !s.ok()) return s.error();
    return one(call, "out", {std::move(shape), input.dtype, {}});
}

/// (N, C, H, W) or (C, H, W) gives (N, C taps, windows). Source: torch.nn.functional.unfold.
Specs im2col(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    if (Status s = spread_window(call); !s.ok()) return s.error();
    if (input.rank() != 3 && input.rank() != 4) {
        return contradiction(call, "input " + to_string(input.shape) + " must be (N, C, H, W) or (C, H, W)");
    }
    const auto windows = image_windows(call, ShapeView(input.shape).last(2));
    if (!windows.ok()) return windows.error();
    Shape shape(input.shape.begin(), input.shape.end() - 1);
    if (__builtin_mul_overflow(shape[shape.size() - 2], taps_of(call), &shape[shape.size() - 2])) {
        return contradiction(call, "kernel_size is too large");
    }
    shape.back() = *windows;
    return one(call, "out", {std::move(shape), input.dtype, {}});
}

/// (N, C taps, windows) or (C taps, windows) gives (N, C, output_size). Source: torch.nn.functional.fold.
Specs col2im(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    if (Status s = spread_window(call); !s.ok()) return s.error();
    if (Status s = spread(call, "output_size", 2); !s.ok()) return s.error();
    const IntList& sides = *call.ints("output_size");
    const auto windows = image_windows(call, sides);
    if (!windows.ok()) return windows.error();
    const int64_t taps = taps_of(call);
    const bool is_batch = input.rank() == 3;
    if ((input.rank() != 2 && !is_batch) || taps == 0 || input.shape[input.shape.size() - 2] % taps != 0 ||
        input.shape.back() != *windows) {
        return contradiction(call, "input " + to_string(input.shape) + " must be (N, C, " + std::to_string(*windows) +
                                       ") or (C, " + std::to_string(*windows) + ") with a C that the " +
                                       std::to_string(taps) + " elements of a window divide");
    }
    Shape shape(input.shape.begin(), input.shape.end() - 1);
    shape.back() /= taps;
    shape.insert(shape.end(), sides.begin(), sides.end());
    return one(call, "out", {std::move(shape), input.dtype, {}});
}

/// The dim becomes windows, whose elements are a new last dim. A 0-dim tensor is like one of a single element, and has
/// the last dim only. Source: torch.Tensor.unfold.
Specs unfold(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const auto dim = position_of_dim(call, call.integer("dim"), std::max<int64_t>(input.rank(), 1));
    if (!dim.ok()) return dim.error();
    const int64_t size = call.integer("size"), step = call.integer("step");
    const int64_t length = input.rank() == 0 ? 1 : input.shape[*dim];
    if (size < 0 || size > length || step <= 0) {
        return contradiction(call, "size " + std::to_string(size) + " must be 0 to " + std::to_string(length) +
                                       " and step " + std::to_string(step) + " positive");
    }
    Shape shape = input.shape;
    if (input.rank() > 0) shape[*dim] = (length - size) / step + 1;
    shape.push_back(size);
    return one(call, "out", {std::move(shape), input.dtype, {}});
}

}  // namespace diopi::infer_rules
