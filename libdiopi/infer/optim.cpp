#include <algorithm>
#include <cmath>

#include "infer/infer.hpp"
#include "infer/rules.hpp"

namespace diopi::infer_rules {

namespace {

/// The list of tensors that the function reads, `inputs` or `grads`; null if it is empty or has absent elements.
const TensorList* whole_list(const Call& call) {
    const auto* list = std::get_if<TensorList>(&call[call.has("inputs") ? "inputs" : "grads"]);
    const bool is_whole = list != nullptr && !list->empty() && std::ranges::find(*list, TensorPtr()) == list->end();
    return is_whole ? list : nullptr;
}

Error not_whole(const Call& call) { return contradiction(call, "the list must have tensors, and none that is absent"); }

}  // namespace

/// Source: torch._foreach_add, torch._foreach_mul. A tensor as the other operand has no dims.
Specs listed(Call& call, const ResultHints&) {
    const Tensor* other = call.tensor("other");
    const auto* number = std::get_if<Scalar>(&call["other"]);
    const TensorList* inputs = whole_list(call);
    if (inputs == nullptr) return not_whole(call);
    if (other != nullptr && other->rank() != 0) {
        return contradiction(call, "other " + to_string(other->shape) + " must have no dims");
    }
    std::vector<OutputSpec> specs;
    for (const TensorPtr& input : *inputs) {
        const Dtype dtype = number != nullptr  ? result_type(*input, *number)
                            : other != nullptr ? result_type(*input, *other)
                                               : input->dtype;
        if (call.row->variant != Variant::inplace) {
            specs.push_back(
                {static_cast<size_t>(call.row->find("outs")), {input->shape, dtype, {}}, true, specs.size()});
        } else if (!can_cast(dtype, input->dtype)) {
            return contradiction(call, "a result of " + std::string(name(dtype)) + " cannot be stored in place in " +
                                           std::string(name(input->dtype)));
        }
    }
    return specs;
}

/// Norms of the tensors of a list, or one of all together, which has no spec. A tensor without elements has no norm of
/// an infinite or a negative order. Source: torch._foreach_norm, torch.nn.utils.clip_grad_norm_.
Specs listed_norms(Call& call, const ResultHints&) {
    const TensorList* inputs = whole_list(call);
    if (inputs == nullptr) return not_whole(call);
    const auto* number = call.has("ord") ? std::get_if<Scalar>(&call["ord"]) : nullptr;
    const double order = number != nullptr ? number->as_double() : std::get<double>(call["norm_type"]);
    std::vector<OutputSpec> specs;
    for (const TensorPtr& input : *inputs) {
        if (input->numel() == 0 && (order < 0 || std::isinf(order))) {
            return contradiction(
                call, "a tensor " + to_string(input->shape) + " has no norm of order " + std::to_string(order));
        }
        if (call.row->variant == Variant::inplace) continue;
        specs.push_back({static_cast<size_t>(call.row->find("outs")), {{}, input->dtype, {}}, true, specs.size()});
    }
    return specs;
}

}  // namespace diopi::infer_rules
