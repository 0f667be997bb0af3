#include "infer/rules.hpp"

namespace diopi::infer_rules {

/// out (*, K) from input (*, C) and weight (K, C).
Specs linear(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const Tensor& weight = *call.tensor("weight");
    if (weight.rank() != 2 || input.rank() < 1 || input.shape.back() != weight.shape[1]) {
        return contradiction(call, "input " + to_string(input.shape) + " must end in the last size of weight " +
                                       to_string(weight.shape) + ", which is (out_features, in_features)");
    }
    Shape shape = input.shape;
    shape.back() = weight.shape[0];
    if (const Tensor* bias = call.tensor("bias"); bias != nullptr && broadcast_shapes(shape, bias->shape) != shape) {
        return contradiction(call, "bias " + to_string(bias->shape) + " does not broadcast to " + to_string(shape));
    }
    return one(call, "out", {std::move(shape), input.dtype, {}});
}

}  // namespace diopi::infer_rules
