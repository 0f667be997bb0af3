/// Shapes of normalisation by the root mean square.
#include "infer/rules.hpp"

namespace diopi::infer_rules {

/// out is like input; inv_rms is one number per row, of the leading shape and the dtype of sums. Rows without elements
/// have none. Source: RMSNorm, Zhang and Sennrich 2019.
Specs rms_norm(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    auto leading = leading_shape(call);
    if (!leading.ok()) return leading.error();
    std::vector<OutputSpec> specs = one(call, "out", {input.shape, input.dtype, {}});
    specs.push_back(one(call, "inv_rms", {std::move(*leading), sum_dtype(input.dtype), {}})[0]);
    specs.back().has_meaning = numel(*call.ints("normalized_shape")) > 0;
    return specs;
}

/// inoutput changes in place, and so does residual, where the function has one. Source: lmdeploy/turbomind.
Specs rms_norm_in_place(Call& call, const ResultHints&) {
    const Shape& shape = call.tensor("inoutput")->shape;
    if (shape.size() != 2) return contradiction(call, "inoutput " + to_string(shape) + " must be (tokens, hidden)");
    auto wrong = wrong_shape(call, {"scale"}, "the hidden size of inoutput,", {shape[1]});
    if (!wrong && call.has("residual")) wrong = wrong_shape(call, {"residual"}, "the shape of inoutput", shape);
    if (!wrong && call.has("bias")) wrong = wrong_shape(call, {"bias"}, "the hidden size of inoutput,", {shape[1]});
    if (wrong) return contradiction(call, *wrong);
    return std::vector<OutputSpec>{};
}

}  // namespace diopi::infer_rules
