#include "intercept/fallback.hpp"

#include <fmt/format.h>

#include "call/call_name.hpp"

namespace diopi {

namespace {

std::string seed_text_of(const TensorPtr& tensor) {
    if (tensor == nullptr) return "None";
    return fmt::format("{{shape: {}, dtype: {}, device: {}}}", to_string(tensor->shape), name(tensor->dtype),
                       tensor->storage.device == diopi_host ? "cpu" : "device");
}

/// The tensors of the call that `wanted` selects, in order.
template <class Wanted>
std::string seed_text_of(const Call& call, Wanted wanted) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < call.args.size(); ++i) {
        if (!wanted(call.row->args()[i])) continue;
        if (const auto* tensor = std::get_if<TensorPtr>(&call.args[i])) texts.push_back(seed_text_of(*tensor));
        if (const auto* list = std::get_if<TensorList>(&call.args[i])) {
            for (const TensorPtr& tensor : *list) texts.push_back(seed_text_of(tensor));
        }
    }
    return fmt::format("{}", fmt::join(texts, ", "));
}

Outcome outcome_of(const Error& error, std::string_view doing) {
    const diopiError_t code = error.code == Errc::kNotImplemented ? diopiNoImplement : diopiErrorOccurred;
    return {code, std::string(doing) + ": " + error.message};
}

}  // namespace

std::string seed_line(const FallbackEvent& event) {
    const auto is_input = [](const Arg& arg) { return !arg.is_output; };
    const auto is_output = [](const Arg& arg) { return arg.is_output || arg.is_inout; };
    return fmt::format("OpFallbackHook: {:<50} input: {} output: {} cpu output: {}", name_of(event.call),
                       seed_text_of(event.call, is_input), seed_text_of(event.call, is_output),
                       seed_text_of(event.copy, is_output));
}

bool Fallback::is_forced(const Call& call) {
    if (lists_->wanted) return lists_->wanted(call);
    const bool listed = lists_->only ? lists_->only->matches(call) : lists_->except.has_value();
    return listed && !(lists_->except && lists_->except->matches(call));
}

Outcome Fallback::around(Call& call, Context& context, const Next& next) {
    // A forced call that the other side lacks stays on the device.
    if (is_forced(call) && other_->backend().implements(*call.row)) {
        return fall_back(FallbackReason::kForced, call, context);
    }
    Outcome outcome = next(call, context);
    if (!outcome.is_declined() || !other_->backend().implements(*call.row)) return outcome;
    const bool has = next.backend().implements(*call.row);
    return fall_back(has ? FallbackReason::kDeclined : FallbackReason::kNotImplemented, call, context);
}

Outcome Fallback::fall_back(FallbackReason reason, Call& call, Context& context) {
    auto copy = CallCopy::create(call, context, *other_);
    if (!copy.ok()) return outcome_of(copy.error(), "copying the arguments for the fallback");
    Outcome outcome = copy->run();
    if (!outcome.ok()) return outcome;
    if (Status s = copy->write_back(call, context); !s.ok()) {
        return outcome_of(s.error(), "copying the results of the fallback");
    }
    if (sink_) sink_({reason, call, copy->call(), copy->in(), copy->out(), copy->seconds()});
    other_->context().release();
    return outcome;
}

}  // namespace diopi
