#include "infer/rules.hpp"

namespace diopi::infer_rules {

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
    if (groups <= 0 || input.shape[1] != weight.shape[1] * groups || weight.shape[0] % groups != 0) {
        return contradiction(call, "input has " + std::to_string(input.shape[1]) + " channels, weight " +
                                       to_string(weight.shape) + " with groups " + std::to_string(groups) + " wants " +
                                       std::to_string(weight.shape[1] * groups));
    }
    Shape shape = {input.shape[0], weight.shape[0]};
    for (size_t i = 0; i < spatial; ++i) {
        const int64_t stride = (*call.ints("stride"))[i];
        const int64_t padding = (*call.ints("padding"))[i];
        const int64_t dilation = (*call.ints("dilation"))[i];
        const int64_t reach = dilation * (weight.shape[i + 2] - 1) + 1;
        const int64_t room = input.shape[i + 2] + 2 * padding - reach;
        if (stride <= 0 || dilation <= 0 || padding < 0 || room < 0) {
            return contradiction(call, "the kernel of reach " + std::to_string(reach) + " does not fit into input " +
                                           to_string(input.shape) + " at spatial dim " + std::to_string(i));
        }
        shape.push_back(room / stride + 1);
    }
    if (const Tensor* bias = call.tensor("bias"); bias != nullptr && bias->shape != Shape{weight.shape[0]}) {
        return contradiction(call,
                             "bias " + to_string(bias->shape) + " must be (" + std::to_string(weight.shape[0]) + ",)");
    }
    return one(call, "out", {std::move(shape), input.dtype, {}});
}

}  // namespace diopi::infer_rules
