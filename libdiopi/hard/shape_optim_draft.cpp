/// The tensors and parameters of hard cases of lists of tensors: optimisers of many parameters, and functions of each.
#include <algorithm>

#include "hard/draft.hpp"

namespace diopi {

bool shape_optim_draft(Draft& draft) {
    const auto args = draft.row().args();
    const auto first = std::ranges::find_if(args, &Arg::is_tensor_list);
    if (draft.row().family != Family::optim || first == args.end()) return false;
    const Shape shape = draft.shape();
    const size_t p = draft.pattern();
    // A tensor without elements has not all norms.
    const bool is_norm = draft.row().rule == ShapeRule::listed_norms || draft.row().op == "clip_grad_norm_";
    std::vector<Shape> shapes = {shape, {}, {7, 3}, is_norm ? Shape{5} : Shape{2, 0}, {1}};
    shapes.resize(1 + p % shapes.size());
    const bool keeps_most = p % 2 == 1;
    for (const Arg& arg : args) {
        if (arg.is_tensor()) draft.add(arg.name, {});
        if (!arg.is_tensor_list() || (arg.is_output && !arg.is_inout)) continue;
        const bool counts = arg.name == "state_steps";
        const FillSpec values = counts            ? FillSpec{Fill::kRandint, 1, 20}
                                : arg.has_meaning ? FillSpec{Fill::kRand}
                                                  : FillSpec{Fill::kRandn};
        for (const Shape& each : shapes) {
            const std::string_view list = arg.alias.empty() ? arg.name : arg.alias;
            draft.add_element(list, counts ? Shape{} : each, counts ? Dtype::float32 : draft.dtype(), values);
        }
    }
    constexpr double kRates[] = {0.1, 0.001, 1, 0}, kOrders[] = {2, 1, 0, 3.5};
    draft.set("lr", kRates[p % 4]);
    draft.set("weight_decay", p % 3 == 0 ? 0.0 : 0.01);
    draft.set("amsgrad", keeps_most);
    draft.set("maximize", p == 2 || p == 5);
    draft.set("max_norm", kRates[p % 4]);
    draft.set("norm_type", kOrders[p % 4]);
    return true;
}

}  // namespace diopi
