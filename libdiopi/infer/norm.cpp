#include <algorithm>
#include <optional>
#include <string>

#include "infer/rules.hpp"

namespace diopi::infer_rules {

namespace {

/// The dtype of sums of that dtype's elements.
Dtype sum_dtype(Dtype dtype) { return is_half(dtype) ? Dtype::float32 : dtype; }

/// out is like input; the statistics have `shape` and the dtype of sums.
Specs with_statistics(Call& call, const Shape& shape, bool have_meaning,
                      std::initializer_list<const char*> statistics = {"save_mean", "save_invstd"}) {
    const Tensor& input = *call.tensor("input");
    std::vector<OutputSpec> specs = one(call, "out", {input.shape, input.dtype, {}});
    for (const char* arg : statistics) {
        specs.push_back(one(call, arg, {shape, sum_dtype(input.dtype), {}})[0]);
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

/// The statistics are one number per group of each sample; groups without elements have none. Source:
/// torch.native_group_norm.
Specs group_norm(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const int64_t groups = call.integer("num_groups", 1);
    if (input.rank() < 2 || groups < 1 || input.shape[1] % groups != 0) {
        return contradiction(call, "input " + to_string(input.shape) + " must be (N, C, *) with a C that num_groups " +
                                       std::to_string(groups) + " divides");
    }
    const auto wrong = wrong_shape(call, {"weight", "bias"}, "the channels of input,", {input.shape[1]});
    if (wrong) return contradiction(call, *wrong);
    return with_statistics(call, {input.shape[0], groups}, input.numel() > 0);
}

/// The result is like input, whose dim 1 the argument `axis` must name. Source: torch.instance_norm.
Specs instance_norm(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    if (input.rank() < 3) return contradiction(call, "input " + to_string(input.shape) + " must be (N, C, *)");
    const auto axis = wrap_dim(call.integer("axis"), input.rank());
    if (axis != 1) {
        return contradiction(call, "axis " + std::to_string(call.integer("axis")) +
                                       " must be 1, the channels of input " + to_string(input.shape));
    }
    const auto wrong = wrong_shape(call, {"scale", "bias"}, "the channels of input,", {input.shape[1]});
    if (wrong) return contradiction(call, *wrong);
    return one(call, "output", {input.shape, input.dtype, {}});
}

/// Statistics of rows, of the leading shape. Source: torch.native_layer_norm.
Specs layer_norm_axis(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const int64_t axis = call.integer("begin_norm_axis");
    if (axis < 0 || axis >= input.rank()) {
        return contradiction(
            call, "begin_norm_axis " + std::to_string(axis) + " is no dim of input " + to_string(input.shape));
    }
    const Shape leading(input.shape.begin(), input.shape.begin() + axis);
    const Shape last(input.shape.begin() + axis, input.shape.end());
    const auto wrong = wrong_shape(call, {"weight", "bias"}, "the shape of input from begin_norm_axis on,", last);
    if (wrong) return contradiction(call, *wrong);
    return with_statistics(call, leading, numel(last) > 0, {"running_mean", "running_var"});
}

/// mean and invstd are one number per channel, of the dtype of sums; so are the statistics of each worker that
/// mean_all and invstd_all have. Source: torch.batch_norm_stats, torch.batch_norm_gather_stats_with_counts.
Specs channel_statistics(Call& call, const ResultHints&) {
    const Tensor* all = call.has("mean_all") ? call.tensor("mean_all") : nullptr;
    const Tensor& of = all != nullptr ? *all : *call.tensor("input");
    if (of.rank() < 2 || (all != nullptr && of.rank() != 2)) {
        return contradiction(call, all != nullptr ? "mean_all " + to_string(of.shape) + " must be (W, C)"
                                                  : "input " + to_string(of.shape) + " must be (N, C, *)");
    }
    if (all != nullptr) {
        auto wrong = wrong_shape(call, {"invstd_all"}, "the shape of mean_all", of.shape);
        if (!wrong) wrong = wrong_shape(call, {"counts"}, "one number for each worker,", {of.shape[0]});
        if (!wrong) wrong = wrong_shape(call, {"running_mean", "running_var"}, "the channels,", {of.shape[1]});
        if (wrong) return contradiction(call, *wrong);
    }
    std::vector<OutputSpec> specs = one(call, "mean", {{of.shape[1]}, sum_dtype(of.dtype), {}});
    specs.push_back(one(call, "invstd", specs[0].spec)[0]);
    return specs;
}

namespace {

/// The message for an input without channels, or for statistics that are not one number for each.
std::optional<std::string> wrong_channels(const Call& call) {
    const Tensor& input = *call.tensor("input");
    if (input.rank() < 2) return "input " + to_string(input.shape) + " must be (N, C, *)";
    const char* grad = call.has("grad_out") ? "grad_out" : "input";
    if (auto wrong = wrong_shape(call, {grad}, "the shape of input", input.shape)) return wrong;
    for (const char* arg : {"mean", "invstd", "weight", "bias", "sum_dy", "sum_dy_xmu"}) {
        if (!call.has(arg) || call.row->args()[static_cast<size_t>(call.row->find(arg))].is_output) continue;
        if (auto wrong = wrong_shape(call, {arg}, "the channels of input,", {input.shape[1]})) return wrong;
    }
    return std::nullopt;
}

}  // namespace

/// Sums per channel of those kinds that the call asks for: sums for grad_input are like mean, the gradients like
/// weight. Source: torch.batch_norm_backward_reduce.
Specs channel_sums(Call& call, const ResultHints&) {
    if (const auto wrong = wrong_channels(call)) return contradiction(call, *wrong);
    const Tensor& mean = *call.tensor("mean");
    const Tensor* weight = call.tensor("weight");
    std::vector<OutputSpec> specs;
    const auto add = [&](const char* flag, const char* arg, Dtype dtype) {
        if (call.flag(flag)) specs.push_back(one(call, arg, {mean.shape, dtype, {}})[0]);
    };
    add("input_g", "sum_dy", mean.dtype);
    add("input_g", "sum_dy_xmu", mean.dtype);
    add("weight_g", "grad_weight", weight != nullptr ? weight->dtype : mean.dtype);
    add("bias_g", "grad_bias", weight != nullptr ? weight->dtype : mean.dtype);
    return specs;
}

/// The result is like input, with one number per channel for each of the others. Source: torch.batch_norm_elemt,
/// torch.batch_norm_backward_elemt.
Specs channel_map(Call& call, const ResultHints&) {
    if (const auto wrong = wrong_channels(call)) return contradiction(call, *wrong);
    const Tensor& input = *call.tensor("input");
    return written(call, {input.shape, input.dtype, {}});
}

/// Source: torch.nn.functional.normalize.
Specs normalize(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const auto axis = position_of_dim(call, call.integer("axis"), input.rank());
    if (!axis.ok()) return axis.error();
    return one(call, "output", {input.shape, input.dtype, {}});
}

}  // namespace diopi::infer_rules
