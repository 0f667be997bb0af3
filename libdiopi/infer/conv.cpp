#include "infer/rules.hpp"

namespace diopi::infer_rules {

namespace {

/// The weight's channels of all groups; -1 when they are too many for any tensor.
int64_t channels_of(const Tensor& weight, int64_t groups) {
    int64_t channels = 0;
    return __builtin_mul_overflow(weight.shape[1], groups, &channels) ? -1 : channels;
}

}  // namespace

/// out[i] = floor((input[i] + 2 padding - dilation (kernel - 1) - 1) / stride) + 1. Source: torch.nn.Conv2d.
Specs convolution(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const Tensor& weight = *call.tensor("weight");
    if (input.rank() < 3 || weight.rank() != input.rank()) {
        return contradiction(call, "input " + to_string(input.shape) + " and weight " + to_string(weight.shape) +
                                       " must be (N, C, *) and (K, C / groups, *) of the same rank");
    }
    const size_t spatial = input.shape.size() - 2;
    for (const char* arg : {"stride", "padding", "dilation"}) {
        if (Status s = spread(call, arg, spatial); !s.ok()) return s.error();
    }
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
    if (const Tensor* bias = call.tensor("bias"); bias != nullptr && bias->shape != Shape{weight.shape[0]}) {
        return contradiction(call,
                             "bias " + to_string(bias->shape) + " must be (" + std::to_string(weight.shape[0]) + ",)");
    }
    return one(call, "out", {std::move(shape), input.dtype, {}});
}

}  // namespace diopi::infer_rules
