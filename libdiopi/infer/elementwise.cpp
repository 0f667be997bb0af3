#include <algorithm>

#include "core/format.hpp"
#include "infer/infer.hpp"
#include "infer/rules.hpp"

namespace diopi {

namespace {

/// Dtype of a combination in which only the category of `lower` (a 0-dim tensor, a number) counts.
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

/// A tensor without memory that stands for an intermediate result.
Tensor described(TensorSpec spec) {
    Tensor tensor;
    tensor.shape = std::move(spec.shape);
    tensor.dtype = spec.dtype;
    return tensor;
}

/// Broadcasts the spec with one more tensor; false when that is not possible.
bool join(std::optional<TensorSpec>& spec, const Tensor& tensor, Influence influence) {
    if (!spec) {
        spec = TensorSpec{tensor.shape, tensor.dtype, {}};
        return true;
    }
    std::optional<Shape> shape = broadcast_shapes(spec->shape, tensor.shape);
    if (!shape) return false;
    const Dtype dtype = influence == Influence::shape ? spec->dtype : result_type(described(*spec), tensor);
    spec = TensorSpec{std::move(*shape), dtype, {}};
    return true;
}

/// Whether the function has operands that may be absent, and all are: without bounds there is nothing to clamp to.
bool lacks_all_optional(const Call& call) {
    bool has_optional = false;
    for (size_t i = 0; i < call.args.size(); ++i) {
        const Arg& arg = call.row->args()[i];
        if (!arg.optional || arg.is_output) continue;
        if (!is_null(call.args[i])) return false;
        has_optional = true;
    }
    return has_optional;
}

/// Shape and dtype of the operands together: tensors and numbers. Tensors that only select come last.
Result<TensorSpec> combined(const Call& call) {
    std::optional<TensorSpec> spec;
    std::vector<const Scalar*> numbers;
    if (lacks_all_optional(call)) return contradiction(call, "all operands that may be absent are absent");
    for (const Influence influence : {Influence::both, Influence::shape}) {
        for (size_t i = 0; i < call.args.size(); ++i) {
            const Arg& arg = call.row->args()[i];
            if (arg.is_output || arg.influence != influence) continue;
            if (const auto* scalar = std::get_if<Scalar>(&call.args[i])) numbers.push_back(scalar);
            const Tensor* tensor = arg.is_tensor() ? call.tensor(arg.name) : nullptr;
            if (tensor == nullptr) continue;
            const std::string so_far = spec ? to_string(spec->shape) : "";
            if (join(spec, *tensor, influence)) continue;
            return contradiction(call, "input " + so_far + " and " + std::string(arg.name) + " " +
                                           to_string(tensor->shape) + " do not broadcast");
        }
    }
    if (!spec) return contradiction(call, "a tensor is missing");
    for (const Scalar* number : numbers) spec->dtype = result_type(described(*spec), *number);
    return std::move(*spec);
}

}  // namespace

bool can_cast(Dtype from, Dtype to) {
    if (is_complex(from)) return is_complex(to);
    if (is_floating(from)) return is_floating(to) || is_complex(to);
    return from == Dtype::boolean || to != Dtype::boolean;
}

Specs same(Call& call, const ResultHints& hints) {
    const Tensor& input = *call.tensor("input");
    const bool may_be_wider = call.row->args().front().may_be_wider;
    return one(call, "out", {input.shape, may_be_wider ? hints.dtype.value_or(input.dtype) : input.dtype, {}});
}

/// A complex number becomes a real one: a part of it, or its modulus.
Specs component(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    return one(call, "out", {input.shape, component_of(input.dtype), {}});
}

/// Integers and bool become float32.
Specs floating(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const bool is_real = is_floating(input.dtype) || is_complex(input.dtype);
    if (call.row->variant != Variant::inplace) {
        return one(call, "out", {input.shape, is_real ? input.dtype : Dtype::float32, {}});
    }
    if (is_real) return std::vector<OutputSpec>{};
    return contradiction(call, "a floating result cannot be stored in place in " + std::string(name(input.dtype)));
}

namespace {

/// The result of the operands: a new tensor; in place, a result that must fit into `input`.
Specs stored(const Call& call, TensorSpec spec) {
    if (call.row->variant != Variant::inplace) return one(call, "out", std::move(spec));
    const Tensor& input = *call.tensor("input");
    if (spec.shape != input.shape) {
        return contradiction(call, "the result " + to_string(spec.shape) + " does not fit into input " +
                                       to_string(input.shape) + " in place");
    }
    if (!can_cast(spec.dtype, input.dtype)) {
        return contradiction(call, "a result of " + std::string(name(spec.dtype)) + " cannot be stored in place in " +
                                       std::string(name(input.dtype)));
    }
    return std::vector<OutputSpec>{};
}

}  // namespace

/// The result has the promoted dtype; a given out of another dtype keeps its own, and the result is converted.
Specs broadcast(Call& call, const ResultHints& hints) {
    auto spec = combined(call);
    if (!spec.ok()) return spec.error();
    if (hints.dtype) spec->dtype = *hints.dtype;
    return stored(call, std::move(*spec));
}

/// A quotient that is not rounded to a whole number is floating.
Specs broadcast_div(Call& call, const ResultHints&) {
    auto spec = combined(call);
    if (!spec.ok()) return spec.error();
    const bool rounds = call.integer("rounding_mode") != RoundModeNone;
    if (!rounds && !is_floating(spec->dtype) && !is_complex(spec->dtype)) spec->dtype = Dtype::float32;
    return stored(call, std::move(*spec));
}

namespace {

/// The contradiction of a tensor of another dtype than the first one; none if there is no such tensor.
std::optional<Error> mixed(const Call& call) {
    const Tensor* first = nullptr;
    for (size_t i = 0; i < call.args.size(); ++i) {
        const Arg& arg = call.row->args()[i];
        const Tensor* tensor = !arg.is_output && arg.is_tensor() ? call.tensor(arg.name) : nullptr;
        if (tensor == nullptr) continue;
        if (first == nullptr) first = tensor;
        if (tensor->dtype == first->dtype) continue;
        return contradiction(call, std::string(arg.name) + " is " + std::string(name(tensor->dtype)) + ", wanted " +
                                       std::string(name(first->dtype)) + " as the others");
    }
    return {};
}

}  // namespace

/// The operands have one dtype, the result's.
Specs broadcast_alike(Call& call, const ResultHints&) {
    if (auto error = mixed(call)) return *error;
    auto spec = combined(call);
    if (!spec.ok()) return spec.error();
    return stored(call, std::move(*spec));
}

/// The operands have one dtype, that of the parts of the complex result.
Specs broadcast_complex(Call& call, const ResultHints&) {
    if (auto error = mixed(call)) return *error;
    auto spec = combined(call);
    if (!spec.ok()) return spec.error();
    if (spec->dtype != Dtype::float32 && spec->dtype != Dtype::float64) {
        return contradiction(call,
                             "no complex dtype has parts of " + std::string(name(spec->dtype)) + " that are computed");
    }
    spec->dtype = spec->dtype == Dtype::float32 ? Dtype::complex64 : Dtype::complex128;
    return one(call, "out", std::move(*spec));
}

/// Truth values, in place as numbers of the input's dtype.
Specs compare(Call& call, const ResultHints& hints) {
    auto spec = combined(call);
    if (!spec.ok()) return spec.error();
    const bool in_place = call.row->variant == Variant::inplace;
    spec->dtype = in_place ? call.tensor("input")->dtype : hints.dtype.value_or(Dtype::boolean);
    return stored(call, std::move(*spec));
}

/// The tensors keep their shapes and dtypes.
Specs in_place(Call&, const ResultHints&) { return std::vector<OutputSpec>{}; }

}  // namespace infer_rules
}  // namespace diopi
