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

}  // namespace diopi::infer_rules
