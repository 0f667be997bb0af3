#include <algorithm>
#include <optional>

#include "core/strided.hpp"
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

/// A loss for each element, or their sum or mean. `input` and `target` have one shape, to which the weights broadcast;
/// only both of them affect the dtype. Source: torch.nn.functional.mse_loss, binary_cross_entropy.
Specs loss(Call& call, const ResultHints&) {
    const auto args = call.row->args();
    const Tensor *input = nullptr, *target = nullptr;
    for (size_t i = 0; i < args.size(); ++i) {
        const Tensor* tensor = args[i].is_output || !args[i].is_tensor() ? nullptr : call.tensor(args[i].name);
        if (tensor == nullptr) continue;
        if (input != nullptr && target != nullptr && broadcast_shapes(tensor->shape, input->shape) != input->shape) {
            return contradiction(call, std::string(args[i].name) + " " + to_string(tensor->shape) +
                                           " does not broadcast to input " + to_string(input->shape));
        }
        (input == nullptr ? input : target == nullptr ? target : tensor) = tensor;
    }
    if (input == nullptr || target == nullptr) return contradiction(call, "a tensor is missing");
    if (input->shape != target->shape || !is_floating(input->dtype)) {
        return contradiction(call, "input " + std::string(name(input->dtype)) + " " + to_string(input->shape) +
                                       " must be floating and have the shape of target " + to_string(target->shape));
    }
    const bool none = call.integer("reduction") == ReductionNone;
    return one(call, "out", {none ? input->shape : Shape{}, promote(input->dtype, target->dtype), {}});
}

namespace {

/// The largest of the numbers, 0 of none; nullopt where the values are not at hand.
std::optional<int64_t> largest(const Tensor& lengths) {
    int64_t most = 0;
    if (lengths.numel() == 0) return most;
    const bool is_wide = lengths.dtype == Dtype::int64;
    const bool is_readable = lengths.data() != nullptr && lengths.storage.device == diopi_host;
    if (!is_readable || (!is_wide && lengths.dtype != Dtype::int32)) return std::nullopt;
    for_each_offset(lengths.shape, lengths.strides, [&](int64_t at) {
        most = std::max(most, is_wide ? lengths.data_as<int64_t>()[at] : lengths.data_as<int32_t>()[at]);
    });
    return std::min<int64_t>(most, INT32_MAX);
}

}  // namespace

/// Source: torch.nn.functional.ctc_loss. The variables of the dynamic programme have a state for each label and for the
/// blanks around them.
Specs ctc_loss(Call& call, const ResultHints&) {
    const Tensor &x = *call.tensor("log_probs"), &targets = *call.tensor("targets");
    const Tensor &steps = *call.tensor("input_lengths"), &labels = *call.tensor("target_lengths");
    if (x.rank() != 3 || targets.rank() < 1 || targets.rank() > 2) {
        return contradiction(call, "log_probs " + to_string(x.shape) + " must be (T, N, C), and targets " +
                                       to_string(targets.shape) + " (N, S) or (S)");
    }
    const Shape samples = {x.shape[1]};
    if (steps.shape != samples || labels.shape != samples || (targets.rank() == 2 && targets.shape[0] != samples[0])) {
        return contradiction(call, "targets and the lengths must be those of " + std::to_string(samples[0]) +
                                       " samples, as log_probs " + to_string(x.shape) + " has them");
    }
    const int64_t most = largest(labels).value_or(targets.shape.back());
    const bool none = call.integer("reduction") == ReductionNone;
    std::vector<OutputSpec> specs = one(call, "out", {none ? samples : Shape{}, x.dtype, {}});
    specs.push_back(one(call, "neg_log_likelihood", {samples, x.dtype, {}})[0]);
    specs.push_back(one(call, "log_alpha", {{samples[0], x.shape[0], 2 * most + 1}, x.dtype, {}})[0]);
    specs.back().has_meaning = false;
    return specs;
}

}  // namespace diopi::infer_rules
