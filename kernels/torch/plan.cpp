#include "kernels/torch/plan.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace diopi::torch_impl {

namespace {

using Kind = Plan::Source::Kind;

c10::IValue value_of(std::string_view text) {
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

/// Values that a call of the standard implies: it has no argument for them.
std::optional<Plan::Source> implied(const c10::Argument& argument) {
    const std::string& name = argument.name();
    if (name == "keepdim") return Plan::Source{Kind::kKeepdim, -1, {}, {}};
    if (name == "output_mask") return Plan::Source{Kind::kWanted, -1, {}, {}};
    if (name == "input_dtype") return Plan::Source{Kind::kInputDtype, -1, {}, {}};
    if (name == "half_to_float") return Plan::Source{Kind::kValue, -1, {}, false};
    if (argument.default_value()) return Plan::Source{Kind::kValue, -1, {}, *argument.default_value()};
    if (argument.type()->kind() == c10::TypeKind::OptionalType) return Plan::Source{};
    return std::nullopt;
}

/// The plan for one overload; empty and `why` set if an argument has no source.
std::optional<Plan> plan_of(const Row& row, const AtenCall& call, const c10::OperatorHandle& op, std::string& why) {
    Plan plan{op, {}, call.required, {}, call.results, false, -1};
    const c10::FunctionSchema& schema = op.schema();
    size_t written = 0;
    std::vector<bool> used(call.arguments.size(), false);
    for (const c10::Argument& argument : schema.arguments()) {
        const std::string& name = argument.name();
        const auto is_named = [&](const auto& each) { return each.name == name; };
        const auto given = std::ranges::find_if(call.given, is_named);
        const auto source = std::ranges::find_if(call.arguments, is_named);
        if (given != call.given.end()) {
            plan.sources.push_back({Kind::kValue, -1, {}, value_of(given->value)});
        } else if (source != call.arguments.end()) {
            used[static_cast<size_t>(source - call.arguments.begin())] = true;
            plan.sources.push_back({Kind::kParameter, source->parameter, source->form, {}});
            const Arg& arg = row.args()[static_cast<size_t>(source->parameter)];
            if (plan.first_input < 0 && arg.is_tensor()) plan.first_input = source->parameter;
        } else if (writes(argument) && argument.kwarg_only()) {
            if (written >= call.results.size()) {
                why = "no result for " + name;
                return std::nullopt;
            }
            plan.sources.push_back({Kind::kResult, call.results[written++], {}, {}});
            plan.writes_results = true;
        } else if (auto rest = implied(argument)) {
            plan.sources.push_back(std::move(*rest));
        } else {
            why = "no source for " + name;
            return std::nullopt;
        }
    }
    for (const AtenRank& rank : call.ranks) {
        const auto source = std::ranges::find(call.arguments, rank.name, &AtenArgument::name);
        if (source != call.arguments.end()) plan.ranks.emplace_back(source->parameter, rank.rank);
    }
    for (size_t i = 0; i < used.size(); ++i) {
        if (used[i]) continue;
        why = "no argument " + std::string(call.arguments[i].name);
        return std::nullopt;
    }
    if (plan.writes_results) return plan;
    if (plan.results.size() > schema.returns().size()) {
        why = "it returns fewer results than the function has";
        return std::nullopt;
    }
    return plan;
}

/// Better ones first: ATen writes the results itself.
int rank_of(const Plan& plan) { return plan.writes_results ? 0 : 1; }

}  // namespace

Plans make_plans(const Row& row) {
    Plans made;
    for (const AtenCall& call : aten_calls_of(row)) {
        std::vector<Plan> of_call;
        for (const std::string_view overload : call.overloads) {
            const size_t dot = overload.find('.');
            const std::string name = "aten::" + std::string(overload.substr(0, dot));
            const std::string rest(dot == std::string_view::npos ? "" : overload.substr(dot + 1));
            const auto op = c10::Dispatcher::singleton().findSchema({name, rest});
            std::string why = "this PyTorch has no such overload";
            auto plan = op ? plan_of(row, call, *op, why) : std::nullopt;
            if (plan) {
                of_call.push_back(std::move(*plan));
            } else {
                made.drift += (made.drift.empty() ? "" : "; ") + std::string(overload) + ": " + why;
            }
        }
        std::ranges::stable_sort(of_call, {}, rank_of);
        std::ranges::move(of_call, std::back_inserter(made.plans));
    }
    return made;
}

}  // namespace diopi::torch_impl
