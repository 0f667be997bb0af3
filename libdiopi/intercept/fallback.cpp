#include "intercept/fallback.hpp"

namespace diopi {

namespace {

Outcome outcome_of(const Error& error, std::string_view doing) {
    const diopiError_t code = error.code == Errc::kNotImplemented ? diopiNoImplement : diopiErrorOccurred;
    return {code, std::string(doing) + ": " + error.message};
}

}  // namespace

std::string_view name(FallbackReason reason) {
    switch (reason) {
        case FallbackReason::kForced:
            return "forced";
        case FallbackReason::kNotImplemented:
            return "not implemented";
        case FallbackReason::kDeclined:
            return "declined";
    }
    return "";
}

bool Fallback::is_forced(const Call& call) {
    if (lists_->wanted) return lists_->wanted(call);
    const bool listed = lists_->only ? lists_->only->matches(call) : lists_->except.has_value();
    return listed && !(lists_->except && lists_->except->matches(call));
}

Outcome Fallback::around(Call& call, Context& context, const Next& next) {
    // A forced call that the other side lacks stays where it is.
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
