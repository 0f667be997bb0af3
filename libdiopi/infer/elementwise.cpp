#include "infer/rules.hpp"

namespace diopi {

namespace {

/// Dtype of a combination in which `lower` (a 0-dim tensor, a number) only counts by its category.
Dtype combine(Dtype higher, Dtype lower) {
    if (is_complex(higher)) return higher;
    if (is_floating(higher)) return is_complex(lower) ? promote_with_number(higher, lower) : higher;
    if (higher == Dtype::boolean || is_floating(lower) || is_complex(lower)) return promote(higher, lower);
    return higher;
}

}  // namespace

Dtype result_type(const Tensor& a, const Tensor& b) {
    const bool number_a = a.rank() == 0;
    const bool number_b = b.rank() == 0;
    if (number_a == number_b) return promote(a.dtype, b.dtype);
    return number_a ? combine(b.dtype, a.dtype) : combine(a.dtype, b.dtype);
}

Dtype result_type(const Tensor& a, const Scalar& b) { return promote_with_number(a.dtype, b.dtype); }

namespace infer_rules {

namespace {

/// Shape and dtype of `input` combined with `other`, a tensor or a number; input alone when there is no other.
Result<TensorSpec> combined(const Call& call) {
    const Tensor& input = *call.tensor("input");
    if (!call.has("other")) return TensorSpec{input.shape, input.dtype, {}};
    if (const auto* number = std::get_if<Scalar>(&call["other"])) {
        return TensorSpec{input.shape, result_type(input, *number), {}};
    }
    const Tensor& other = *call.tensor("other");
    std::optional<Shape> shape = broadcast_shapes(input.shape, other.shape);
    if (!shape) {
        return contradiction(
            call, "input " + to_string(input.shape) + " and other " + to_string(other.shape) + " do not broadcast");
    }
    return TensorSpec{std::move(*shape), result_type(input, other), {}};
}

bool is_true_division(const Call& call) {
    return call.has("rounding_mode") && call.integer("rounding_mode") == RoundModeNone;
}

/// Whether a result of this dtype may be stored in place: not from a higher category into a lower one.
bool can_cast(Dtype from, Dtype to) {
    if (is_complex(from)) return is_complex(to);
    if (is_floating(from)) return is_floating(to) || is_complex(to);
    return from == Dtype::boolean || to != Dtype::boolean;
}

}  // namespace

Specs same(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    return one(call, "out", {input.shape, input.dtype, {}});
}

Specs broadcast(Call& call, const ResultHints&) {
    auto spec = combined(call);
    if (!spec.ok()) return spec.error();
    return one(call, "out", std::move(*spec));
}

Specs broadcast_div(Call& call, const ResultHints&) {
    auto spec = combined(call);
    if (!spec.ok()) return spec.error();
    if (is_true_division(call) && !is_floating(spec->dtype) && !is_complex(spec->dtype)) spec->dtype = Dtype::float32;
    return one(call, "out", std::move(*spec));
}

Specs in_place(Call& call, const ResultHints&) {
    if (!call.has("other")) return std::vector<OutputSpec>{};
    const Tensor& input = *call.tensor("input");
    auto spec = combined(call);
    if (!spec.ok()) return spec.error();
    if (spec->shape != input.shape) {
        return contradiction(call, "the result " + to_string(spec->shape) + " does not fit into input " +
                                       to_string(input.shape) + " in place");
    }
    if (is_true_division(call) && !is_floating(spec->dtype) && !is_complex(spec->dtype)) spec->dtype = Dtype::float32;
    if (!can_cast(spec->dtype, input.dtype)) {
        return contradiction(call, "a result of " + std::string(name(spec->dtype)) + " cannot be stored in place in " +
                                       std::string(name(input.dtype)));
    }
    return std::vector<OutputSpec>{};
}

}  // namespace infer_rules
}  // namespace diopi
