#include "kernels/torch/plan.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <mutex>
#include <optional>

namespace diopi::torch_impl {

namespace {

using Kind = Plan::Source::Kind;

c10::IValue value_of(std::string_view text, const c10::Argument& argument) {
    if (is_list_of_tensors(argument)) return c10::List<at::Tensor>();
    if (text == "None") return {};
    if (text == "True" || text == "False") return text == "True";
    if (text.front() == '\'') return std::string(text.substr(1, text.size() - 2));
    if (text.front() == '[') {
        c10::List<int64_t> list;
        for (const std::string_view part : split_list(text.substr(1, text.size() - 2))) {
            int64_t number = 0;
            std::from_chars(part.data(), part.data() + part.size(), number);
            list.push_back(number);
        }
        return list;
    }
    if (text.find('.') != std::string_view::npos) return std::stod(std::string(text));
    return static_cast<int64_t>(std::stoll(std::string(text)));
}

bool writes(const c10::Argument& argument) {
    return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

Plan::Condition condition_of(const AtenConstant& required) {
    std::string_view text = required.value;
    if (text.front() == '\'') text = text.substr(1, text.size() - 2);
    Plan::Condition condition{required.parameter, text};
    std::from_chars(text.data(), text.data() + text.size(), condition.number);
    return condition;
}

Plan::Source value_source(c10::IValue value) { return {.kind = Kind::kValue, .value = std::move(value)}; }

/// Values that a call of the standard implies: it has no argument for them.
std::optional<Plan::Source> implied(const Row& row, const c10::Argument& argument) {
    const std::string& name = argument.name();
    if (name == "keepdim") return Plan::Source{.kind = Kind::kKeepdim};
    if (name == "output_mask") return Plan::Source{.kind = Kind::kWanted};
    const bool may_be_wider = std::ranges::any_of(row.args(), &Arg::may_be_wider);
    if (name == "input_dtype" || (name == "dtype" && may_be_wider)) return Plan::Source{.kind = Kind::kResultDtype};
    if (name == "half_to_float") return value_source(false);
    if (argument.default_value()) return value_source(*argument.default_value());
    if (argument.type()->kind() == c10::TypeKind::OptionalType) return Plan::Source{};
    return std::nullopt;
}

/// The plan for one overload of a call; what it lacks stands in `why`.
class Planning {
 public:
    Planning(const Row& row, const AtenCall& call, const c10::OperatorHandle& op)
        : row_(row), call_(call), plan_(op), used_(call.arguments.size(), false) {
        for (const AtenConstant& required : call.required) plan_.required.push_back(condition_of(required));
        plan_.results = call.results;
        plan_.incoming = call.incoming;
    }

    std::optional<Plan> run(std::string& why) {
        const c10::FunctionSchema& schema = plan_.op.schema();
        for (const c10::Argument& argument : schema.arguments()) {
            auto source = source_of(argument);
            if (!source) {
                why = "no source for " + argument.name();
                return std::nullopt;
            }
            plan_.sources.push_back(std::move(*source));
        }
        for (const AtenRank& rank : call_.ranks) {
            const auto source = std::ranges::find(call_.arguments, rank.name, &AtenArgument::name);
            if (source != call_.arguments.end()) plan_.ranks.emplace_back(source->parameter, rank.rank);
        }
        for (size_t i = 0; i < used_.size(); ++i) {
            if (used_[i]) continue;
            if (call_.arguments[i].form != AtenArgument::Form::kGenerator) {
                why = "no argument " + std::string(call_.arguments[i].name);
                return std::nullopt;
            }
            plan_.seed = call_.arguments[i].parameter;
        }
        if (plan_.gradients.size() != call_.gradients.size()) {
            why = "it has not all arguments that need a gradient";
            return std::nullopt;
        }
        if (!plan_.writes_results && std::max(plan_.results.size(), plan_.incoming.size()) > schema.returns().size()) {
            why = "it returns fewer results than the function has";
            return std::nullopt;
        }
        return std::move(plan_);
    }

 private:
    std::optional<Plan::Source> source_of(const c10::Argument& argument) {
        const auto is_named = [&](const auto& each) { return each.name == argument.name(); };
        const auto gradient = std::ranges::find_if(call_.gradients, is_named);
        const bool has_gradient = gradient != call_.gradients.end();
        if (has_gradient) plan_.gradients.push_back({plan_.sources.size(), gradient->parameter});
        if (const auto given = std::ranges::find_if(call_.given, is_named); given != call_.given.end()) {
            return value_source(value_of(given->value, argument));
        }
        if (const auto shape = std::ranges::find_if(call_.shapes, is_named); shape != call_.shapes.end()) {
            return Plan::Source{
                .kind = Kind::kShape, .parameter = shape->parameter, .shape = shape->form, .dim = shape->dim};
        }
        if (const auto source = std::ranges::find_if(call_.arguments, is_named); source != call_.arguments.end()) {
            used_[static_cast<size_t>(source - call_.arguments.begin())] = true;
            const bool is_tensor = row_.args()[static_cast<size_t>(source->parameter)].is_tensor();
            if (plan_.first_input < 0 && is_tensor) plan_.first_input = source->parameter;
            return Plan::Source{
                .kind = Kind::kParameter, .parameter = source->parameter, .form = source->form, .dim = source->dim};
        }
        if (has_gradient) {
            return Plan::Source{
                .kind = Kind::kShape, .parameter = gradient->parameter, .shape = AtenShape::Form::kZeros};
        }
        if (!writes(argument) || !argument.kwarg_only()) return implied(row_, argument);
        if (written_ >= call_.results.size()) return std::nullopt;
        plan_.writes_results = true;
        return Plan::Source{.kind = Kind::kResult, .parameter = call_.results[written_++]};
    }

    const Row& row_;
    const AtenCall& call_;
    Plan plan_;
    std::vector<bool> used_;  ///< the arguments of the call
    size_t written_ = 0;      ///< results that ATen writes
};

/// Better ones first: ATen writes the results itself.
int rank_of(const Plan& plan) { return plan.writes_results ? 0 : 1; }

void note(std::string& drift, const std::string& what) {
    if (drift.find(what) == std::string::npos) drift += (drift.empty() ? "" : "; ") + what;
}

/// The plans for the overloads of one call, the best first. `drift` tells what the others lack.
std::vector<Plan> plans_for(const Row& row, const AtenCall& call, std::string& drift) {
    std::vector<Plan> plans;
    for (const std::string_view overload : call.overloads) {
        const size_t dot = overload.find('.');
        const std::string name = "aten::" + std::string(overload.substr(0, dot));
        const std::string rest(dot == std::string_view::npos ? "" : overload.substr(dot + 1));
        const auto op = c10::Dispatcher::singleton().findSchema({name, rest});
        std::string why = "this PyTorch has no such overload";
        auto plan = op ? Planning(row, call, *op).run(why) : std::nullopt;
        if (plan) {
            plans.push_back(std::move(*plan));
        } else {
            note(drift, std::string(overload) + ": " + why);
        }
    }
    std::ranges::stable_sort(plans, {}, rank_of);
    for (const AtenCall& next : call.more) {
        const std::vector<Plan> more = plans_for(row, next, drift);
        if (more.empty()) return {};
        for (Plan& plan : plans) plan.more.push_back(more.front());
    }
    return plans;
}

}  // namespace

bool is_list_of_tensors(const c10::Argument& argument) {
    return argument.type()->kind() == c10::TypeKind::ListType &&
           argument.type()->expectRef<c10::ListType>().getElementType()->kind() == c10::TypeKind::TensorType;
}

Plans make_plans(const Row& row) {
    Plans made;
    for (const AtenCall& call : aten_calls_of(row)) {
        std::ranges::move(plans_for(row, call, made.drift), std::back_inserter(made.plans));
    }
    return made;
}

const Plans& plans_of(const Row& row) {
    static std::array<std::once_flag, 1024> once;
    static std::array<std::unique_ptr<Plans>, 1024> plans;
    const size_t index = row.index();
    std::call_once(once.at(index), [&] { plans.at(index) = std::make_unique<Plans>(make_plans(row)); });
    return *plans.at(index);
}

}  // namespace diopi::torch_impl
