#include "infer/rules.hpp"

namespace diopi::infer_rules {

namespace {

/// `shape` without its class dimension: (C), (N, C), (N, C, *).
Shape without_classes(const Shape& shape) {
    Shape out = shape;
    if (!out.empty()) out.erase(out.begin() + (out.size() > 1 ? 1 : 0));
    return out;
}

Status check_weight(const Call& call, const Tensor& input) {
    const Tensor* weight = call.tensor("weight");
    const int64_t classes = input.shape[input.rank() > 1 ? 1 : 0];
    if (weight == nullptr || weight->shape == Shape{classes}) return {};
    return contradiction(call, "weight " + to_string(weight->shape) + " must be (" + std::to_string(classes) +
                                   ",), one number per class");
}

}  // namespace

Specs nll_loss(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const Tensor& target = *call.tensor("target");
    if (input.rank() < 1 || target.shape != without_classes(input.shape)) {
        return contradiction(call, "input " + to_string(input.shape) + " needs a target of shape " +
                                       to_string(without_classes(input.shape)) + ", not " + to_string(target.shape));
    }
    if (Status s = check_weight(call, input); !s.ok()) return s.error();
    const bool none = call.integer("reduction") == ReductionNone;
    std::vector<OutputSpec> specs = one(call, "out", {none ? target.shape : Shape{}, input.dtype, {}});
    if (call.has("totalWeight")) {
        specs.push_back(one(call, "totalWeight", {{}, input.dtype, {}})[0]);
        specs.back().has_meaning = !none;
    }
    return specs;
}

Specs cross_entropy(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const Tensor& target = *call.tensor("target");
    const Shape per_sample = input.rank() < 1 ? Shape{} : without_classes(input.shape);
    const bool probabilities = target.shape == input.shape && is_floating(target.dtype);
    if (input.rank() < 1 || (!probabilities && target.shape != per_sample)) {
        return contradiction(call, "input " + to_string(input.shape) + " needs class indices of shape " +
                                       to_string(per_sample) + " or probabilities of its own shape as target, not " +
                                       to_string(target.shape));
    }
    if (Status s = check_weight(call, input); !s.ok()) return s.error();
    const bool none = call.integer("reduction") == ReductionNone;
    return one(call, "out", {none ? per_sample : Shape{}, input.dtype, {}});
}

}  // namespace diopi::infer_rules
