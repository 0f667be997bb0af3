#include "infer/work.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "call/tensors.hpp"

namespace diopi {

namespace {

using Flops = double (*)(const Call&);

double count(const Tensor* tensor) { return tensor == nullptr ? 0 : static_cast<double>(tensor->numel()); }
double count(const Call& call, std::string_view arg) { return call.has(arg) ? count(call.tensor(arg)) : 0; }

/// So many operations for each element of the largest tensor.
template <int kOperations>
double per_element(const Call& call) {
    double most = 0;
    for_each_tensor(call, [&](const Place&, const TensorPtr& tensor) { most = std::max(most, count(tensor.get())); });
    return kOperations * most;
}

/// The same over all tensors that one argument lists: optimisers of many parameters.
template <int kOperations>
double per_listed_element(const Call& call) {
    double most = 0;
    for (const Value& value : call.args) {
        const auto* list = std::get_if<TensorList>(&value);
        if (list == nullptr) continue;
        most = std::max(most, std::accumulate(list->begin(), list->end(), 0.0, [](double sum, const TensorPtr& tensor) {
                            return sum + count(tensor.get());
                        }));
    }
    return kOperations * most;
}

/// A multiplication and an addition for each of the terms of each element.
double sums(double elements, double terms) { return 2 * elements * terms; }

int64_t last_size(const Tensor& tensor) { return tensor.rank() == 0 ? 1 : tensor.shape.back(); }

/// (*, M, K) by (*, K, N), whatever the operands are called; a term more where something is added.
double product(const Call& call) {
    constexpr std::string_view kLeft[] = {"batch1", "mat1", "input"};
    const auto* left = std::ranges::find_if(kLeft, [&](std::string_view arg) { return call.has(arg); });
    const bool adds = *left != "input";
    const double out = count(call, call.has("out") ? "out" : "input");
    return sums(out, static_cast<double>(last_size(*call.tensor(*left)))) + (adds ? 2 * out : 0);
}

double product_backward(const Call& call) {
    const double one = sums(count(call, "grad_out"), static_cast<double>(last_size(*call.tensor("input"))));
    return one * ((call.tensor("grad_input") != nullptr ? 1 : 0) + (call.tensor("grad_other") != nullptr ? 1 : 0));
}

/// Linear layers and convolutions: each output sums over what one row of the weight holds.
double weighted_sums(const Call& call) {
    const Tensor& weight = *call.tensor("weight");
    const double out = count(call, "out");
    const double terms = count(&weight) / static_cast<double>(std::max<int64_t>(weight.shape[0], 1));
    return sums(out, terms) + (call.tensor("bias") != nullptr ? out : 0);
}

/// The gradients of input and weight take as many operations as the forward call, each.
double weighted_sums_backward(const Call& call) {
    const Tensor& weight = *call.tensor("weight");
    const double out = count(call, "grad_output");
    const double one = sums(out, count(&weight) / static_cast<double>(std::max<int64_t>(weight.shape[0], 1)));
    return one * ((call.tensor("grad_input") != nullptr ? 1 : 0) + (call.tensor("grad_weight") != nullptr ? 1 : 0)) +
           (call.tensor("grad_bias") != nullptr ? out : 0);
}

/// Transposed: each input element is spread over one row of the weight.
double spread_sums(const Call& call) {
    const Tensor& weight = *call.tensor("weight");
    return sums(count(call, "input"), count(&weight) / static_cast<double>(std::max<int64_t>(weight.shape[0], 1)));
}

/// Each output element looks at one window.
double window_elements(const Call& call) {
    const IntList* kernel = call.ints("kernel_size");
    if (kernel == nullptr || kernel->empty()) return count(call, "out");
    double area = 1;
    for (const int64_t size : *kernel) area *= static_cast<double>(size);
    if (kernel->size() == 1) area *= area;
    return count(call, "out") * area;
}

struct WorkRow {
    std::string_view op;
    Flops forward;  ///< of in-place functions, too
    Flops backward;
};

/// Where the family's formula does not hold.
constexpr WorkRow kOperators[] = {
    {"mm", product, nullptr},
    {"bmm", product, nullptr},
    {"matmul", product, product_backward},
    {"addmm", product, nullptr},
    {"baddbmm", product, nullptr},
    {"linear", weighted_sums, weighted_sums_backward},
    {"conv2d", weighted_sums, weighted_sums_backward},
    {"conv3d", weighted_sums, weighted_sums_backward},
    {"conv_transpose2d", spread_sums, nullptr},
    // Largest element, difference, exponential, sum, quotient; the gradient: product, sum, difference, product.
    {"softmax", per_element<5>, per_element<4>},
    {"log_softmax", per_element<5>, per_element<4>},
    // Mean, deviation and square for the statistics; difference, scale, weight, bias. Back: two sums of products, and
    // three terms of two operations each.
    {"batch_norm", per_element<7>, per_element<10>},
    {"layer_norm", per_element<7>, per_element<10>},
    {"group_norm", per_element<7>, per_element<10>},
    {"instance_norm", per_element<7>, per_element<10>},
    {"max_pool2d", window_elements, per_element<1>},
    {"avg_pool2d", window_elements, per_element<1>},
    {"adaptive_avg_pool2d", per_element<1>, per_element<1>},
    {"adaptive_max_pool2d", per_element<1>, per_element<1>},
    {"cross_entropy", per_element<5>, per_element<4>},
    {"nll_loss", nullptr, nullptr},
    {"nll_loss_v2", nullptr, nullptr},
    // Momentum and weight decay: two operations each, and two for the step.
    {"sgd", per_element<6>, nullptr},
    {"adam", per_element<12>, nullptr},
    {"adamw", per_element<12>, nullptr},
    {"fused_adamw", per_listed_element<12>, nullptr},
};

struct FamilyRow {
    Family family;
    Flops flops;
};

/// Families all of whose operators do the same with an element; no operations: memory alone decides.
constexpr FamilyRow kFamilies[] = {
    {Family::elementwise, nullptr}, {Family::activation, nullptr},       {Family::shape, nullptr},
    {Family::index, nullptr},       {Family::random, nullptr},           {Family::amp, nullptr},
    {Family::loss, per_element<2>}, {Family::reduction, per_element<1>}, {Family::optim, per_element<6>},
};

const WorkRow* operator_row(const Row& row) {
    const auto* found = std::ranges::find(kOperators, row.op, &WorkRow::op);
    return found == std::end(kOperators) ? nullptr : found;
}

const FamilyRow* family_row(const Row& row) {
    const auto* found = std::ranges::find(kFamilies, row.family, &FamilyRow::family);
    return found == std::end(kFamilies) ? nullptr : found;
}

struct Untouched {
    std::string_view function, arg;
    /// Only where this gradient is not wanted; empty: always.
    std::string_view unless;
};

/// Arguments that a function need not read: only their shape counts, or they are written and not read.
constexpr Untouched kUnread[] = {
    {"diopiFill", "input", ""},
    {"diopiNormalInp", "inout", ""},
    {"diopiBernoulliScalar", "out", ""},
    {"diopiMaxPool2dBackward", "input", ""},
    {"diopiAdaptiveAvgPool2dBackward", "input", ""},
    {"diopiConvolution2dBackward", "input", "grad_weight"},
    {"diopiConvolution2dBackward", "weight", "grad_input"},
    {"diopiLinearBackward", "input", "grad_weight"},
    {"diopiLinearBackward", "weight", "grad_input"},
    {"diopiMatmulBackward", "input", "grad_other"},
    {"diopiMatmulBackward", "other", "grad_input"},
    {"diopiNLLLossBackward", "input", ""},
    {"diopiNLLLossV2Backward", "input", ""},
};

/// Arguments that the header lets a function write and that it leaves as they are.
constexpr Untouched kUnwritten[] = {{"diopiSgd", "grad", ""}};

bool is_listed(std::span<const Untouched> list, const Call& call, const Arg& arg) {
    return std::ranges::any_of(list, [&](const Untouched& row) {
        if (row.function != call.row->function || row.arg != arg.name) return false;
        return row.unless.empty() || call.tensor(row.unless) == nullptr;
    });
}

/// Bytes of the elements that are apart from each other: a dim of stride 0 repeats them.
double distinct_bytes(const Tensor& tensor) {
    double elements = 1;
    for (size_t d = 0; d < tensor.shape.size(); ++d) {
        const bool repeats = tensor.strides.size() == tensor.shape.size() && tensor.strides[d] == 0;
        if (!repeats || tensor.shape[d] == 0) elements *= static_cast<double>(tensor.shape[d]);
    }
    return elements * static_cast<double>(size_of(tensor.dtype));
}

/// Elements of the last two dims of a tensor that lie in one triangle with the diagonal.
double triangle_of(const Tensor& tensor, bool upper, int64_t diagonal) {
    const int64_t rows = tensor.rank() < 2 ? 0 : tensor.shape[tensor.shape.size() - 2], columns = last_size(tensor);
    double kept = 0;
    for (int64_t row = 0; row < rows; ++row) {
        const int64_t edge = std::clamp(row + std::clamp(diagonal, -rows, columns), int64_t{-1}, columns);
        kept += static_cast<double>(upper ? columns - std::max<int64_t>(edge, 0) : std::min(edge + 1, columns));
    }
    return rows == 0 || columns == 0 ? 0 : kept * count(&tensor) / static_cast<double>(rows * columns);
}

/// Elements of an input that have to be read where these are not all: a lookup reads one for each target, or a row for
/// each index, and of a triangle only what stays.
std::optional<double> elements_read(const Call& call, const Arg& arg, const Tensor& tensor) {
    const std::string_view op = call.row->op;
    const bool forward = call.row->variant == Variant::forward;
    if ((op == "nll_loss" || op == "nll_loss_v2") && forward && arg.name == "input") return count(call, "target");
    if (op == "embedding" && forward && arg.name == "weight") return std::min(count(call, "out"), count(&tensor));
    if ((op == "triu" || op == "tril") && forward && arg.name == "input") {
        return triangle_of(tensor, op == "triu", call.integer("diagonal"));
    }
    return std::nullopt;
}

double bytes_of(const Call& call) {
    double bytes = 0;
    std::set<const void*> read;
    for_each_tensor(call, [&](const Place& place, const TensorPtr& operand) {
        const Arg& arg = place.arg;
        const Tensor& tensor = *operand;
        const std::optional<double> part = elements_read(call, arg, tensor);
        const double own = part ? *part * static_cast<double>(size_of(tensor.dtype)) : distinct_bytes(tensor);
        const bool writes = place.is_written() && !is_listed(kUnwritten, call, arg);
        const bool is_new = tensor.data() == nullptr || read.insert(tensor.data()).second;
        const bool reads = place.is_read() && is_new && !is_listed(kUnread, call, arg);
        bytes += own * ((writes ? 1 : 0) + (reads ? 1 : 0));
    });
    return bytes;
}

}  // namespace

bool has_work_formula(const Row& row) { return operator_row(row) != nullptr || family_row(row) != nullptr; }

CallWork work_of(const Call& call) {
    const WorkRow* own = operator_row(*call.row);
    const FamilyRow* family = family_row(*call.row);
    if (own == nullptr && family == nullptr) return {};
    const bool backward = call.row->variant == Variant::backward;
    const Flops flops = own == nullptr ? family->flops : backward ? own->backward : own->forward;
    return {flops == nullptr ? 0 : flops(call), bytes_of(call)};
}

}  // namespace diopi
