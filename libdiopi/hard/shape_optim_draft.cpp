/// The tensors and parameters of hard cases of lists of tensors: optimisers of many parameters, and functions of each
/// tensor.
#include <iterator>
#include <limits>

#include "hard/draft.hpp"

namespace diopi {

namespace {

FillSpec fill_of(const Arg& arg, bool counts_steps) {
    if (counts_steps) return {Fill::kRandint, 1, 20};
    return arg.has_meaning ? FillSpec{Fill::kRand} : FillSpec{};
}

/// Puts a NaN or an infinity behind small numbers: then no norm but that of order 0 is finite.
void make_infinite(CaseTensor& tensor, double last) {
    const int64_t n = numel(tensor.specs.front().shape);
    if (n == 0 || n > kMostWritten) return;
    tensor.fill = {Fill::kValue};
    for (int64_t i = 0; i < n; ++i) tensor.values.push_back(static_cast<double>(i % 7) - 3);
    tensor.values.back() = last;
}

}  // namespace

void set_decay_of_moments(Draft& draft) {
    const size_t chosen = draft.level(Factor::kNumbers);
    draft.set("beta1", chosen % 2 == 0 ? 0.9 : 0.5);
    draft.set("beta2", chosen % 3 == 0 ? 0.999 : 0.8);
}

bool begins_with_zeros(const Draft& draft) { return draft.level(Factor::kNumbers) % 5 == 4; }

bool shape_optim_draft(Draft& draft) {
    const size_t p = draft.pattern();
    constexpr double kRates[] = {0.1, 0.001, 1, 0}, kInfinity = std::numeric_limits<double>::infinity();
    constexpr double kOrders[] = {2, 1, 0, 3.5, -1, 0.5, kInfinity, -kInfinity};
    const double order = kOrders[p % std::size(kOrders)];
    // A tensor without elements has not all norms.
    const bool takes_empty = draft.row().rule != ShapeRule::listed_norms || (order >= 0 && order < kInfinity);
    std::vector<Shape> shapes = {draft.shape(), {}, {7, 3}, takes_empty ? Shape{2, 0} : Shape{5}, {1}};
    if (!takes_empty && numel(shapes[0]) == 0) return false;
    // As many as a launch takes at once, and more.
    constexpr size_t kCounts[] = {17, 65, 130};
    const size_t few = 1 + p % shapes.size(), count = p < 5 ? few : kCounts[p - 5];
    for (size_t k = shapes.size(); k < count; ++k) shapes.push_back({1 + static_cast<int64_t>(k % 3)});
    shapes.resize(count);
    const bool is_absent = draft.level(Factor::kAbsent) != 0;
    for (const Arg& arg : draft.row().args()) {
        if (arg.is_tensor()) draft.add(arg.name, {});
        if (!arg.is_tensor_list() || arg.is_output || (arg.optional && is_absent)) continue;
        const bool counts_steps = arg.name == "state_steps", is_state = arg.is_inout && arg.name != "params";
        const bool is_zero = begins_with_zeros(draft) && is_state && draft.row().find("params") >= 0;
        for (const Shape& shape : shapes) {
            draft.add_element(arg.alias.empty() ? arg.name : arg.alias, counts_steps ? Shape() : shape,
                              counts_steps ? Dtype::float32 : draft.dtype(),
                              is_zero ? FillSpec{Fill::kZeros} : fill_of(arg, counts_steps));
        }
    }
    draft.set("lr", kRates[p % 4]);
    set_decay_of_moments(draft);
    draft.set("weight_decay", p % 3 == 0 ? 0.0 : 0.01);
    draft.set("amsgrad", p % 2 == 1 && !is_absent);
    draft.set("maximize", p == 2 || p == 5);
    draft.set("max_norm", kRates[p % 4]);
    draft.set("norm_type", order);
    draft.set("ord", order);
    if (draft.row().find("error_if_nonfinite") >= 0 && p % 3 == 1) {
        constexpr double kNotFinite[] = {std::numeric_limits<double>::infinity(),
                                         std::numeric_limits<double>::quiet_NaN()};
        draft.set("error_if_nonfinite", true);
        // The norm of numbers near the largest may be finite in one dtype, and not in another.
        for (CaseTensor& tensor : draft.made().tensors) tensor.fill = {Fill::kUniform, -1, 1};
        make_infinite(draft.made().tensors.front(), kNotFinite[draft.level(Factor::kNumbers) % 2]);
    }
    return true;
}

}  // namespace diopi
