#include "step/adapted_step.hpp"

#include <fmt/format.h>

#include <cmath>

#include "call/factors.hpp"
#include "call/tensors.hpp"
#include "check/oracle.hpp"
#include "intercept/call_copy.hpp"

namespace diopi {

namespace {

/// The dtype with the digits of a value of `dtype` that is computed in `adapted`.
Dtype narrower(Dtype dtype, Dtype adapted) { return DtypeCast{dtype, adapted}.rounds() ? adapted : dtype; }

/// Whether the call multiplies sums of products by a number: a product of three factors may overflow on the way, be
/// lost or become infinity times 0, where the inputs use more than half of the dtype's range.
bool has_three_factors(const Call& call) { return call.row->accuracy == AccuracyClass::D && is_scaled(call); }

/// Whether an element that the call reads is infinite, in an argument that `is_asked`.
template <class IsAsked>
bool reads_infinity(const Call& call, const IsAsked& is_asked) {
    bool found = false;
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        if (found || !place.is_read() || !is_asked(place.arg) || !is_floating(tensor->dtype)) return;
        const Tensor elements = gathered(*tensor);
        for (int64_t i = 0; i < elements.numel() && !found; ++i) found = std::isinf(real_of(elements, i));
    });
    return found;
}

bool is_any(const Arg&) { return true; }

bool is_statistic_or_parameter(const Arg& arg) { return !arg.answers_to("input") && !arg.answers_to("grad_output"); }

/// Whether a rounding of `wide` made finite elements infinite, or elements other than 0 to 0.
bool loses_range(const Tensor& wide, const Tensor& rounded) {
    if (!is_floating(wide.dtype)) return false;
    const Tensor before = gathered(wide);
    for (int64_t i = 0; i < rounded.numel(); ++i) {
        const double x = real_of(before, i), y = real_of(rounded, i);
        if (std::isfinite(x) != std::isfinite(y) || (x != 0) != (y != 0)) return true;
    }
    return false;
}

/// Whether the call writes the lowest number of a dtype, which is another one in the dtype that the adaptor has it
/// write.
bool writes_other_lowest(const Step& step, std::span<const ArgRules> args) {
    const Call& call = step.call;
    if (!call.row->writes_lowest()) return false;
    const Dtype dtype = call.tensor("logits")->dtype;
    return args.front().dtype_for(dtype) != dtype && call.integer("vocab_size") < call.integer("vocab_size_padd");
}

}  // namespace

Result<std::optional<Step>> computed_step(const Step& step, const AdaptorRules& rules) {
    const std::span<const ArgRules> args = rules.of(*step.call.row);
    if (args.empty()) return std::optional<Step>();
    Step computed = step;
    bool narrows = false;
    for (OutputSpec& output : computed.outputs) {
        const Dtype dtype = output.spec.dtype;
        output.spec.dtype = narrower(dtype, args[output.arg].dtype_for(dtype));
        narrows = narrows || output.spec.dtype != dtype;
    }
    Status status;
    for_each_tensor(computed.call, [&](const Place& place, TensorPtr& tensor) {
        const auto at = static_cast<size_t>(&place.arg - step.call.row->args().data());
        const Dtype dtype = narrower(tensor->dtype, args[at].dtype_for(tensor->dtype));
        if (!status.ok() || tensor->is_sparse() || dtype == tensor->dtype) return;
        auto rounded = cast(*tensor, dtype);
        status = rounded.status();
        if (!rounded.ok()) return;
        computed.has_lost_range |= loses_range(*tensor, **rounded);
        tensor = std::move(*rounded);
        narrows = true;
    });
    if (!status.ok()) return status.error();
    return narrows ? std::optional(std::move(computed)) : std::nullopt;
}

std::string beyond_range(const Step& step, const std::vector<ArgTensor>& expected, const AdaptorRules& rules) {
    const std::span<const ArgRules> args = rules.of(*step.call.row);
    if (args.empty()) return "";
    if (step.has_lost_range && has_three_factors(step.call)) {
        return "the inputs exceed the range of the dtype that the adaptor has them computed in, where a product of "
               "three factors may overflow on the way";
    }
    const Family family = step.call.row->family;
    if (step.has_lost_range && (family == Family::conv || family == Family::vision) &&
        reads_infinity(step.call, is_any)) {
        return "the inputs exceed the range of the dtype that the adaptor has them computed in, where some become "
               "infinite: the products of infinity and padding, or a weight near 0, may be NaN";
    }
    if (step.has_lost_range && family == Family::norm && reads_infinity(step.call, is_statistic_or_parameter)) {
        return "the inputs exceed the range of the dtype that the adaptor has them computed in, where statistics or "
               "parameters become infinite: whether they give NaN depends on how the formula is written";
    }
    const bool is_gradient = step.call.row->variant == Variant::backward;
    if (step.has_lost_range && is_gradient && (family == Family::loss || family == Family::linear) &&
        reads_infinity(step.call, is_any)) {
        return "the inputs exceed the range of the dtype that the adaptor has them computed in, where some become "
               "infinite: whether a gradient is then NaN depends on how the formula is written";
    }
    if (writes_other_lowest(step, args)) {
        return "the lowest number of the dtype that the adaptor has the logits computed in is not that of their own";
    }
    for (const ArgTensor& value : expected) {
        const auto output = step.result_at(value.place());
        if (output && value.tensor->shape != output->spec.shape) {
            return fmt::format(
                "the shape of {} depends on values, which change in the dtype that the adaptor has them "
                "computed in",
                step.call.name_of(value.place()));
        }
        if (!output || !output->has_meaning || value.tensor->dtype != Dtype::int64) continue;
        const Dtype dtype = output->spec.dtype, adapted = args[value.arg].dtype_for(dtype);
        if (adapted == dtype || !may_overflow(dtype, adapted)) continue;
        const std::string out_of_range = first_out_of_range(*value.tensor, adapted);
        if (out_of_range.empty()) continue;
        return fmt::format("{} is expected to hold {}, and the adaptor has it computed in {}",
                           step.call.name_of(value.place()), out_of_range, name(adapted));
    }
    return "";
}

double earlier_rounding(const Step& step, const OutputSpec& output, const AdaptorRules& rules) {
    const std::span<const ArgRules> args = rules.of(*step.call.row);
    if (args.empty()) return 0;
    const Dtype own = output.spec.dtype, adapted = args[output.arg].dtype_for(own);
    return DtypeCast{adapted, own}.rounds() ? std::ldexp(0.5, digits_of(own) - digits_of(adapted)) : 0;
}

AdaptedCalls to_record(const AdaptedCall& call) {
    return call.is_adapted() ? to_record(1, call.in, call.out, call.casts) : AdaptedCalls();
}

}  // namespace diopi
