#include "infer/infer.hpp"
#include "infer/rules.hpp"

namespace diopi::infer_rules {

namespace {

/// One output for each tensor of `inputs`, which spec(input) describes.
template <class Spec>
Specs for_each_input(Call& call, const Spec& spec) {
    const auto* inputs = std::get_if<TensorList>(&call["inputs"]);
    if (inputs == nullptr || inputs->empty()) return contradiction(call, "inputs must not be empty");
    std::vector<OutputSpec> specs;
    for (const TensorPtr& input : *inputs) {
        if (input == nullptr) return contradiction(call, "inputs must not have an absent element");
        specs.push_back({static_cast<size_t>(call.row->find("outs")), spec(*input), true, specs.size()});
    }
    return specs;
}

}  // namespace

/// Source: torch._foreach_add, torch._foreach_mul. A tensor as the other operand has no dims.
Specs listed(Call& call, const ResultHints&) {
    const Tensor* other = call.tensor("other");
    if (other != nullptr && other->numel() != 1) {
        return contradiction(call, "other " + to_string(other->shape) + " must have one element");
    }
    return for_each_input(call, [&](const Tensor& input) {
        const auto* number = std::get_if<Scalar>(&call["other"]);
        const Dtype dtype = number != nullptr  ? result_type(input, *number)
                            : other != nullptr ? result_type(input, *other)
                                               : input.dtype;
        return TensorSpec{input.shape, dtype, {}};
    });
}

/// Source: torch._foreach_norm.
Specs listed_norms(Call& call, const ResultHints&) {
    return for_each_input(call, [](const Tensor& input) { return TensorSpec{{}, input.dtype, {}}; });
}

}  // namespace diopi::infer_rules
