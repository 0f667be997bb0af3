#include <algorithm>

#include "infer/infer.hpp"
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

/// Arguments that are broadcast to the result; all but what only chooses, which comes last, have a say in its dtype.
constexpr std::string_view kBroadcast[] = {"input", "other", "exponent", "tensor1", "tensor2", "condition", "mask"};

bool only_chooses(std::string_view arg) { return arg == "condition" || arg == "mask"; }

/// A tensor that stands for a result so far.
Tensor described(TensorSpec spec) {
    Tensor tensor;
    tensor.shape = std::move(spec.shape);
    tensor.dtype = spec.dtype;
    return tensor;
}

/// Broadcasts the spec with one more tensor; false when that is not possible.
bool join(std::optional<TensorSpec>& spec, const Tensor& tensor, bool chooses) {
    if (!spec) {
        spec = TensorSpec{tensor.shape, tensor.dtype, {}};
        return true;
    }
    std::optional<Shape> shape = broadcast_shapes(spec->shape, tensor.shape);
    if (!shape) return false;
    const Dtype dtype = chooses ? spec->dtype : result_type(described(*spec), tensor);
    spec = TensorSpec{std::move(*shape), dtype, {}};
    return true;
}

/// Shape and dtype of the operands together: tensors, and at most one number.
Result<TensorSpec> combined(const Call& call) {
    std::optional<TensorSpec> spec;
    const Scalar* number = nullptr;
    for (const std::string_view arg : kBroadcast) {
        if (!call.has(arg)) continue;
        if (const auto* scalar = std::get_if<Scalar>(&call[arg])) number = scalar;
        const Tensor* tensor = call.tensor(arg);
        if (tensor == nullptr) continue;
        const std::string so_far = spec ? to_string(spec->shape) : "";
        if (join(spec, *tensor, only_chooses(arg))) continue;
        return contradiction(call, "input " + so_far + " and " + std::string(arg) + " " + to_string(tensor->shape) +
                                       " do not broadcast");
    }
    if (!spec) return contradiction(call, "a tensor is missing");
    if (number != nullptr) spec->dtype = result_type(described(*spec), *number);
    return std::move(*spec);
}

/// Whether there is more than `input` to a call.
bool has_second(const Call& call) {
    return std::ranges::any_of(kBroadcast, [&](std::string_view arg) { return arg != "input" && call.has(arg); });
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

/// Integers and bool give float32.
Specs floating(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const bool is_real = is_floating(input.dtype) || is_complex(input.dtype);
    if (call.row->variant != Variant::inplace) {
        return one(call, "out", {input.shape, is_real ? input.dtype : Dtype::float32, {}});
    }
    if (is_real) return std::vector<OutputSpec>{};
    return contradiction(call, "a floating result cannot be stored in place in " + std::string(name(input.dtype)));
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
    if (!has_second(call)) return std::vector<OutputSpec>{};
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
