/// A call leaves the state of its caller, its arguments and the text of the last error as they were.
#include "state/caller_state.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "call/tensors.hpp"
#include "step/checks/list.hpp"

namespace diopi {

namespace {

/// The parts of its arguments that a call could change: the forms of the tensors that it only reads, and everything
/// that is not a tensor. The form of an output is judged with its values.
struct Arguments {
    std::vector<TensorSpec> forms;
    std::vector<Value> values;

    explicit Arguments(const Call& call) : values(call.args) {
        for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
            if (!place.is_written()) forms.push_back({tensor->shape, tensor->dtype, tensor->strides});
        });
    }
};

/// Whether the callee only reads the argument: a number, a list of sizes or a text. Other pointers may be results.
bool is_read_only(ArgKind kind) {
    return kind == ArgKind::scalar || kind == ArgKind::int_list || kind == ArgKind::int_list_ptr ||
           kind == ArgKind::text;
}

class StateCheck final : public StepCheck {
 public:
    using StepCheck::StepCheck;

    bool judges_errors() const override { return true; }

    void before_attempt(const Attempt& attempt) override {
        // A library is opened first, so that its traces do not count as the call's; the call reports an error of it.
        if (Plugin* plugin = setup_.rules.backend->plugin()) (void)plugin->open();
        arguments_.emplace(attempt.placed.call());
        error_text_ = error_text();
        state_ = CallerState::now();
    }

    void after_call(const Attempt& attempt) override {
        const CallerState now = CallerState::now();
        auto changes = now.changes_since(state_);
        if (!changes.empty() && !state_.restore()) changes.emplace_back("(it could not be put back)");
        name_written_arguments(attempt.placed.call(), changes);
        arguments_.reset();  // they keep the tensors of the attempt
        if (changes_.empty()) changes_ = std::move(changes);
        const std::string text = error_text();
        if (attempt.outcome.ok() && text != error_text_ && left_text_.empty()) left_text_ = text;
    }

    void judge(StepUnderTest&, Findings& findings) override {
        if (!changes_.empty()) {
            findings.fail({FailureKind::kState, fmt::format("the call changed {}", fmt::join(changes_, ", "))});
        }
        if (!left_text_.empty()) {
            findings.fail({FailureKind::kState, "the call succeeded and left an error text: " + left_text_});
        }
        changes_.clear();
        left_text_.clear();
    }

 private:
    void name_written_arguments(const Call& call, std::vector<std::string>& changes) const {
        for (size_t i = 0; i < call.args.size(); ++i) {
            const Arg& arg = call.row->args()[i];
            if (is_read_only(arg.kind) && call.args[i] != arguments_->values[i]) {
                changes.push_back(fmt::format("its argument {}", arg.name));
            }
        }
        if (Arguments(call).forms != arguments_->forms) changes.emplace_back("the shape or the strides of an input");
    }

    /// The library's own text.
    [[nodiscard]] std::string error_text() const {
        const char* text = setup_.rules.backend->own_last_error();
        return text != nullptr ? text : "";
    }

    std::optional<Arguments> arguments_;
    std::string error_text_;
    CallerState state_;
    std::vector<std::string> changes_;  ///< by the first call that changed something
    std::string left_text_;
};

}  // namespace

std::unique_ptr<StepCheck> step_check::state(const CheckSetup& setup) {
    return setup.rules.checks.state ? std::make_unique<StateCheck>(setup) : nullptr;
}

}  // namespace diopi
