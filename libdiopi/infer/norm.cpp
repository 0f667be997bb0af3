#include <algorithm>
#include <optional>
#include <string>

#include "infer/rules.hpp"

namespace diopi::infer_rules {

namespace {

/// The message for a parameter whose shape is not `wanted`, which `what` names; nullopt if all have that shape.
std::optional<std::string> wrong_shape(const Call& call, std::initializer_list<const char*> parameters,
                                       const std::string& what, const Shape& wanted) {
    for (const char* arg : parameters) {
        const Tensor* tensor = call.tensor(arg);
        if (tensor == nullptr || tensor->shape == wanted) continue;
        return std::string(arg) + " " + to_string(tensor->shape) + " must have " + what + " " + to_string(wanted);
    }
    return std::nullopt;
}

/// out is like input; save_mean and save_invstd have `shape` and the accumulation dtype (float32 for half inputs).
Specs with_statistics(Call& call, const Shape& shape, bool have_meaning) {
    const Tensor& input = *call.tensor("input");
    std::vector<OutputSpec> specs = one(call, "out", {input.shape, input.dtype, {}});
    for (const char* arg : {"save_mean", "save_invstd"}) {
        specs.push_back(one(call, arg, {shape, is_half(input.dtype) ? Dtype::float32 : input.dtype, {}})[0]);
        specs.back().has_meaning = have_meaning;
    }
    return specs;
}

}  // namespace

/// The statistics are one number per channel, and empty in evaluation, where nothing is saved. Source:
/// torch.native_batch_norm.
Specs batch_norm(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    if (input.rank() < 2) return contradiction(call, "input " + to_string(input.shape) + " must be (N, C, *)");
    const int64_t channels = input.shape[1];
    const bool training = call.flag("training");
    const auto wrong =
        wrong_shape(call, {"weight", "bias", "running_mean", "running_var"}, "the channels of input,", {channels});
    if (wrong) return contradiction(call, *wrong);
    if (!training && (call.tensor("running_mean") == nullptr || call.tensor("running_var") == nullptr)) {
        return contradiction(call, "running_mean and running_var are needed when training is false");
    }
    return with_statistics(call, {training ? channels : 0}, true);
}

/// The statistics are one number per row, of the leading shape; rows without elements have none. Source:
/// torch.native_layer_norm, which keeps the normalised dims with size 1.
Specs layer_norm(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const IntList& normalized = *call.ints("normalized_shape");
    const bool fits = !normalized.empty() && normalized.size() <= input.shape.size();
    if (!fits || !std::ranges::equal(ShapeView(input.shape).last(normalized.size()), normalized)) {
        return contradiction(
            call, "input " + to_string(input.shape) + " does not end in normalized_shape " + to_string(normalized));
    }
    if (const auto wrong = wrong_shape(call, {"weight", "bias"}, "normalized_shape", normalized))
        return contradiction(call, *wrong);
    const Shape leading(input.shape.begin(), input.shape.end() - static_cast<std::ptrdiff_t>(normalized.size()));
    return with_statistics(call, leading, numel(normalized) > 0);
}

}  // namespace diopi::infer_rules
