#include "infer/infer.hpp"

#include "core/extent.hpp"
#include "infer/rules.hpp"

namespace diopi {

namespace infer_rules {

Error contradiction(const Call& call, const std::string& what) {
    return bad_input(std::string(call.row->function) + ": " + what);
}

std::vector<OutputSpec> one(const Call& call, std::string_view arg, TensorSpec spec) {
    return {{static_cast<size_t>(call.row->find(arg)), std::move(spec)}};
}

int64_t window_count(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, int64_t surplus) {
    int64_t reach = 0, room = 0;
    bool beyond = __builtin_mul_overflow(dilation, kernel - 1, &reach);
    beyond |= __builtin_add_overflow(reach, 1, &reach);
    beyond |= __builtin_mul_overflow(2, padding, &room);
    beyond |= __builtin_add_overflow(room, size, &room);
    beyond |= __builtin_add_overflow(room, surplus, &room);
    beyond |= __builtin_sub_overflow(room, reach, &room);
    return beyond || room < 0 || room == INT64_MAX ? 0 : room / stride + 1;
}

Status spread(Call& call, std::string_view arg, size_t rank) {
    auto& list = std::get<IntList>(call[arg]);
    if (list.size() == 1) list.resize(rank, list[0]);
    if (list.size() == rank) return {};
    return contradiction(call, std::string(arg) + " has " + std::to_string(list.size()) + " numbers where 1 or " +
                                   std::to_string(rank) + " are wanted");
}

namespace {

Specs apply_rule(Call& call, const ResultHints& hints) {
    switch (call.row->rule) {
        case ShapeRule::unknown:
            return not_implemented("the shape rule of " + std::string(call.row->function) + " is not described yet");
        case ShapeRule::same:
            return same(call, hints);
        case ShapeRule::floating:
            return floating(call, hints);
        case ShapeRule::in_place:
            return in_place(call, hints);
        case ShapeRule::gradients:
            return gradients(call, hints);
        case ShapeRule::broadcast:
            return broadcast(call, hints);
        case ShapeRule::broadcast_div:
            return broadcast_div(call, hints);
        case ShapeRule::convolution:
            return convolution(call, hints);
        case ShapeRule::batch_norm:
            return batch_norm(call, hints);
        case ShapeRule::layer_norm:
            return layer_norm(call, hints);
        case ShapeRule::max_pool:
            return max_pool(call, hints);
        case ShapeRule::adaptive_pool:
            return adaptive_pool(call, hints);
        case ShapeRule::linear:
            return linear(call, hints);
        case ShapeRule::matmul:
            return matmul(call, hints);
        case ShapeRule::add_product:
            return add_product(call, hints);
        case ShapeRule::nll_loss:
            return nll_loss(call, hints);
        case ShapeRule::cross_entropy:
            return cross_entropy(call, hints);
        case ShapeRule::reduce_mean:
            return reduce_mean(call, hints);
        case ShapeRule::reduce_sum:
            return reduce_sum(call, hints);
        case ShapeRule::reduce_index:
            return reduce_index(call, hints);
        case ShapeRule::cat:
            return cat(call, hints);
        case ShapeRule::sized:
            return sized(call, hints);
        case ShapeRule::expand:
            return expand(call, hints);
        case ShapeRule::copy:
            return copy(call, hints);
        case ShapeRule::arange:
            return arange(call, hints);
        case ShapeRule::embedding:
            return embedding(call, hints);
    }
    return internal_error("a shape rule without a function");
}

}  // namespace
}  // namespace infer_rules

Dtype in_four_bytes(Dtype dtype) {
    if (dtype == Dtype::int64) return Dtype::int32;
    return dtype == Dtype::float64 ? Dtype::float32 : dtype;
}

Result<std::vector<OutputSpec>> infer(Call& call, const ResultHints& hints) {
    auto specs = infer_rules::apply_rule(call, hints);
    if (!specs.ok()) return specs;
    for (OutputSpec& output : *specs) {
        if (!is_addressable(output.spec.shape)) {
            return infer_rules::contradiction(
                call, "the output of shape " + to_string(output.spec.shape) + " has more elements than any memory");
        }
        if (hints.four_bytes && call.row->args()[output.arg].four_bytes) {
            output.spec.dtype = in_four_bytes(output.spec.dtype);
        }
    }
    return specs;
}

}  // namespace diopi
