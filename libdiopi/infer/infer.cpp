#include "infer/infer.hpp"

#include "core/extent.hpp"
#include "infer/rules.hpp"

namespace diopi {

namespace {

using RuleFunction = infer_rules::Specs (*)(Call&, const ResultHints&);

/// In the order of ShapeRule; null: not described yet.
constexpr RuleFunction kRules[] = {
    nullptr,
#define DIOPI_SHAPE_RULE(name) &infer_rules::name,
#include "schema/shape_rules.inc"
#undef DIOPI_SHAPE_RULE
};

infer_rules::Specs apply_rule(Call& call, const ResultHints& hints) {
    const RuleFunction rule = kRules[static_cast<size_t>(call.row->rule)];
    if (rule != nullptr) return rule(call, hints);
    return undescribed(*call.row);
}

}  // namespace

Error undescribed(const Row& row) {
    return not_implemented("the shape rule of " + std::string(row.function) + " is not described yet");
}

Dtype in_four_bytes(Dtype dtype) {
    if (dtype == Dtype::int64) return Dtype::int32;
    return dtype == Dtype::float64 ? Dtype::float32 : dtype;
}

Result<std::vector<OutputSpec>> infer(Call& call, const ResultHints& hints) {
    auto specs = apply_rule(call, hints);
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
