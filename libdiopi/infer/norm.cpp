#include <algorithm>

#include "infer/rules.hpp"

namespace diopi::infer_rules {

/// out like input; save_mean and save_invstd one number per channel in the accumulation dtype (float32 for half
/// inputs), and empty in evaluation, where nothing is saved. Source: torch.native_batch_norm.
Specs batch_norm(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    if (input.rank() < 2) return contradiction(call, "input " + to_string(input.shape) + " must be (N, C, *)");
    const int64_t channels = input.shape[1];
    const bool training = call.flag("training");
    for (const char* arg : {"weight", "bias", "running_mean", "running_var"}) {
        const Tensor* tensor = call.tensor(arg);
        if (tensor != nullptr && tensor->shape != Shape{channels}) {
            return contradiction(call, std::string(arg) + " " + to_string(tensor->shape) + " must be (" +
                                           std::to_string(channels) + ",) as input " + to_string(input.shape) +
                                           " has it");
        }
    }
    if (!training && (call.tensor("running_mean") == nullptr || call.tensor("running_var") == nullptr)) {
        return contradiction(call, "running_mean and running_var are needed when training is false");
    }
    const Dtype saved = is_half(input.dtype) ? Dtype::float32 : input.dtype;
    const TensorSpec statistics{{training ? channels : 0}, saved, {}};
    std::vector<OutputSpec> specs = one(call, "out", {input.shape, input.dtype, {}});
    specs.push_back(one(call, "save_mean", statistics)[0]);
    specs.push_back(one(call, "save_invstd", statistics)[0]);
    return specs;
}

/// out like input; save_mean and save_invstd one number per row, of the leading shape and in the accumulation dtype;
/// rows without elements have none. Source: torch.native_layer_norm, which keeps the normalised dims with size 1.
Specs layer_norm(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const IntList& normalized = *call.ints("normalized_shape");
    const bool fits = !normalized.empty() && normalized.size() <= input.shape.size();
    if (!fits || !std::ranges::equal(ShapeView(input.shape).last(normalized.size()), normalized)) {
        return contradiction(
            call, "input " + to_string(input.shape) + " does not end in normalized_shape " + to_string(normalized));
    }
    for (const char* arg : {"weight", "bias"}) {
        const Tensor* tensor = call.tensor(arg);
        if (tensor == nullptr || tensor->shape == normalized) continue;
        return contradiction(call, std::string(arg) + " " + to_string(tensor->shape) + " must have normalized_shape " +
                                       to_string(normalized));
    }
    const Shape leading(input.shape.begin(), input.shape.end() - static_cast<std::ptrdiff_t>(normalized.size()));
    const TensorSpec statistics{leading, is_half(input.dtype) ? Dtype::float32 : input.dtype, {}};
    std::vector<OutputSpec> specs = one(call, "out", {input.shape, input.dtype, {}});
    for (const char* arg : {"save_mean", "save_invstd"}) {
        specs.push_back(one(call, arg, statistics)[0]);
        specs.back().has_meaning = numel(normalized) > 0;
    }
    return specs;
}

}  // namespace diopi::infer_rules
