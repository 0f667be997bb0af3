#include <algorithm>

#include "infer/infer.hpp"
#include "infer/rules.hpp"

namespace diopi {

namespace infer_rules {

namespace {

/// The tensor of the argument that answers to `word`.
const Tensor* tensor_named(const Call& call, std::string_view word) {
    const auto args = call.row->args();
    const auto arg = std::ranges::find_if(args, [&](const Arg& each) { return each.answers_to(word); });
    return arg == args.end() ? nullptr : call.tensor(arg->name);
}

/// The shape of the forward function's input, which the call states by a list or by one number for each dim.
std::optional<Shape> stated_shape(const Call& call) {
    Shape shape;
    for (size_t i = 0; i < call.args.size(); ++i) {
        if (call.row->args()[i].shape_of != "input") continue;
        if (const auto* list = std::get_if<IntList>(&call.args[i])) return *list;
        if (const auto* size = std::get_if<int64_t>(&call.args[i])) shape.push_back(*size);
    }
    return shape.empty() ? std::nullopt : std::optional(shape);
}

}  // namespace

/// grad_x is like x. Only gradients of the call's own arguments are described here; others (grad_bias of a linear) need
/// the forward call.
Specs gradients(Call& call, const ResultHints&) {
    std::vector<OutputSpec> specs;
    const auto args = call.row->args();
    for (size_t i = 0; i < args.size(); ++i) {
        const std::string_view word = args[i].alias.starts_with("grad_") ? args[i].alias : args[i].name;
        if (!args[i].is_output || !word.starts_with("grad_")) continue;
        const Tensor* of = tensor_named(call, word.substr(5));
        const bool is_stated = word == "grad_input" && of == nullptr;
        if (is_stated) of = tensor_named(call, "grad_output");
        if (of == nullptr) continue;
        const std::optional<Shape> stated = is_stated ? stated_shape(call) : std::nullopt;
        specs.push_back({i, {stated.value_or(of->shape), of->dtype, {}}});
    }
    return specs;
}

}  // namespace infer_rules

namespace {

int64_t ratio(int64_t numerator, int64_t denominator) { return denominator == 0 ? 1 : numerator / denominator; }

/// Convolution: out sums over C / groups and the kernel, grad_input over K / groups and the kernel, grad_weight and
/// grad_bias over the batch and the output positions.
int64_t convolution_terms(const Call& call, std::string_view output) {
    const Tensor& weight = *call.tensor("weight");
    if (output == "out") return ratio(weight.numel(), weight.shape[0]) + 1;
    if (output == "grad_input") {
        return ratio(weight.numel(), weight.shape[1] * std::max<int64_t>(call.integer("groups", 1), 1));
    }
    const Tensor& grad = *call.tensor("grad_output");
    return ratio(grad.numel(), grad.shape[1]);
}

/// The same with the roles exchanged: an element of out has at most C / groups times the kernel terms.
int64_t conv_transpose_terms(const Call& call, std::string_view output) {
    const Tensor& weight = *call.tensor("weight");
    if (output == "out") {
        return ratio(weight.numel(), weight.shape[1] * std::max<int64_t>(call.integer("groups", 1), 1)) + 1;
    }
    if (output == "grad_input") return ratio(weight.numel(), weight.shape[0]);
    const Tensor& summed = *call.tensor(output == "grad_weight" ? "input" : "grad_output");
    return ratio(summed.numel(), summed.shape[1]);
}

int64_t linear_terms(const Call& call, std::string_view output) {
    const Tensor& weight = *call.tensor("weight");
    if (output == "out") return weight.shape[1] + 1;
    if (output == "grad_input") return weight.shape[0];
    return ratio(call.tensor("grad_output")->numel(), weight.shape[0]);
}

/// Products of matrices: the terms are the last dim of the left factor, with an addend one more, and a factor of both.
/// A gradient sums over all elements of grad_out that an element of its tensor contributed to.
int64_t matmul_terms(const Call& call, const OutputSpec& output) {
    const bool adds = call.row->rule == ShapeRule::add_product;
    const int64_t k = infer_rules::factors_of(call).left.shape.back();
    if (call.row->variant != Variant::backward) return adds ? k + 2 : k;
    int64_t products = 0;
    const bool beyond = __builtin_mul_overflow(call.tensor("grad_out")->numel(), k, &products);
    return beyond ? INT64_MAX : ratio(products, numel(output.spec.shape));
}

/// Places that index tensors name: as many values may be added to one element.
int64_t index_terms(const Call& call) {
    if (call.row->rule == ShapeRule::index_put) {
        const auto indexed = infer_rules::indexed_shape(call);
        return indexed.ok() ? numel(indexed->places) : 1;
    }
    const Tensor& index = *call.tensor("index");
    const auto dim = wrap_dim(call.integer("dim"), index.rank());
    return index.rank() == 0 || !dim ? 1 : index.shape[static_cast<size_t>(*dim)];
}

/// The rule of the function itself, also for its gradients, whose own rule only says that they are gradients.
ShapeRule forward_rule(const Row& row) {
    const auto rows = rows_of(row.op);
    const auto forward = std::ranges::find(rows, Variant::forward, &Row::variant);
    return row.rule == ShapeRule::gradients && forward != rows.end() ? (*forward)->rule : row.rule;
}

/// Pooling: the elements of a window, whose size infer has spread over the spatial dims.
int64_t kernel_terms(const Call& call) {
    const IntList* kernel = call.ints(call.row->find("ksize") >= 0 ? "ksize" : "kernel_size");
    return kernel == nullptr ? 1 : numel(*kernel);
}

/// Adaptive pooling: a window spans at most one element more than size / windows on each side.
int64_t window_terms(const Tensor& input, const Shape& pooled) {
    int64_t terms = 1;
    for (size_t i = 1; i < std::min(input.shape.size(), pooled.size()); ++i) {
        if (input.shape[i] != pooled[i]) terms *= ratio(input.shape[i], pooled[i]) + 2;
    }
    return terms;
}

}  // namespace

bool copies_only(const Call& call) {
    if (call.row->rule == ShapeRule::pool && call.row->find("mode") >= 0) {
        return std::get<std::string>(call["mode"]) == "max";
    }
    if (call.row->rule == ShapeRule::index_put) return !call.flag("accumulate");
    if (call.row->rule != ShapeRule::scatter) return false;
    const auto* reduce = std::get_if<std::string>(&call["reduce"]);
    return reduce == nullptr || reduce->empty();
}

int64_t accumulation_length(const Call& call, const OutputSpec& output) {
    const std::string_view arg = call.row->args()[output.arg].name;
    const ShapeRule rule = forward_rule(*call.row);
    int64_t terms = call.row->terms;
    if (copies_only(call)) return 1;
    if (call.row->rule == ShapeRule::index_put || call.row->rule == ShapeRule::scatter) {
        terms = index_terms(call) + 1;
    } else if (rule == ShapeRule::linear) {
        terms = linear_terms(call, arg);
    } else if (rule == ShapeRule::matmul || rule == ShapeRule::add_product) {
        terms = matmul_terms(call, output);
    } else if (rule == ShapeRule::matmul_all_reduce) {
        terms = call.tensor("x1")->shape.back() + 1;
    } else if (rule == ShapeRule::convolution) {
        terms = convolution_terms(call, arg);
    } else if (rule == ShapeRule::conv_transpose) {
        terms = conv_transpose_terms(call, arg);
    } else if (rule == ShapeRule::col2im) {
        terms = numel(*call.ints("kernel_size"));
    } else if (call.row->rule == ShapeRule::reduce_sum || call.row->rule == ShapeRule::reduce_mean) {
        terms = ratio(call.tensor("input")->numel(), numel(output.spec.shape));
    } else if (rule == ShapeRule::cumulative) {
        const auto dim = wrap_dim(call.integer("dim"), std::ssize(output.spec.shape));
        if (dim && !output.spec.shape.empty()) terms = output.spec.shape[static_cast<size_t>(*dim)];
    } else if (rule == ShapeRule::pool && !call.flag("adaptive")) {
        terms = kernel_terms(call);
    } else if (rule == ShapeRule::adaptive_pool || rule == ShapeRule::pool) {
        terms = window_terms(*call.tensor("input"), output.spec.shape);
    }
    return std::max<int64_t>(terms, 1);
}

bool is_product(const Call& call, const OutputSpec& output) {
    const ShapeRule rule = forward_rule(*call.row);
    const bool multiplies = rule == ShapeRule::linear || rule == ShapeRule::matmul || rule == ShapeRule::add_product ||
                            rule == ShapeRule::convolution || rule == ShapeRule::conv_transpose ||
                            rule == ShapeRule::matmul_all_reduce;
    return multiplies && call.row->args()[output.arg].name != "grad_bias";
}

}  // namespace diopi
