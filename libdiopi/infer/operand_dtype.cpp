#include "infer/operand_dtype.hpp"

#include <algorithm>

#include "call/tensors.hpp"
#include "infer/infer.hpp"

namespace diopi {

std::optional<Dtype> operand_dtype(const Call& call) {
    const ShapeRule rule = call.row->rule;
    const bool has_bounds = std::ranges::any_of(call.row->args(), &Arg::is_bound);
    if (rule != ShapeRule::broadcast && rule != ShapeRule::broadcast_div && !has_bounds) return {};
    std::optional<Dtype> of_all, of_dims;
    bool reads_others = false;
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        if (!place.is_read() || place.arg.influence != Influence::both) return;
        reads_others = reads_others || !is_integer(tensor->dtype);
        of_all = promote(of_all.value_or(tensor->dtype), tensor->dtype);
        if (!tensor->shape.empty()) of_dims = promote(of_dims.value_or(tensor->dtype), tensor->dtype);
    });
    if (!of_all || reads_others) return {};
    Call plain = call;
    const auto outputs = infer(plain, {});
    const bool gives_reals = !outputs.ok() || std::ranges::any_of(*outputs, [](const OutputSpec& output) {
        return is_floating(output.spec.dtype);
    });
    if (gives_reals) return {};
    return of_dims ? of_dims : of_all;
}

std::optional<Dtype> common_dtype(const Call& call) {
    if (!call.row->traits.promotes) return {};
    std::optional<Tensor> all;  // shape and dtype only
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        if (!place.is_read()) return;
        if (all) {
            all->dtype = result_type(*all, *tensor);
            if (all->shape.empty()) all->shape = tensor->shape;
        } else {
            all = Tensor();
            all->shape = tensor->shape;
            all->dtype = tensor->dtype;
        }
    });
    if (!all) return {};
    for (const Value& value : call.args) {
        if (const auto* number = std::get_if<Scalar>(&value)) all->dtype = result_type(*all, *number);
    }
    return all->dtype;
}

}  // namespace diopi
