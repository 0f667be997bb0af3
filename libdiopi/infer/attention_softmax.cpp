/// Shapes of the softmax of attention scores.
#include "infer/rules.hpp"

namespace diopi::infer_rules {

/// output is like input, to which mask broadcasts. Source: fused softmax of Megatron-LM.
Specs scaled_masked_softmax(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const Tensor& mask = *call.tensor("mask");
    if (input.rank() != 4) {
        return contradiction(call, "input " + to_string(input.shape) + " must be (batch, heads, seq_q, seq_k)");
    }
    if (mask.dtype != Dtype::boolean) {
        return contradiction(call, "mask is " + std::string(name(mask.dtype)) + ", wanted bool");
    }
    if (broadcast_shapes(input.shape, mask.shape) != input.shape) {
        return contradiction(
            call, "mask " + to_string(mask.shape) + " does not broadcast to input " + to_string(input.shape));
    }
    return one(call, "output", {input.shape, input.dtype, {}});
}

}  // namespace diopi::infer_rules
