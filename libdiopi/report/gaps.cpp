#include "report/gaps.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "cases/case.hpp"
#include "report/table.hpp"

namespace diopi {

namespace {

/// The calls of a function: the shapes of the first tensors of their cases.
struct Calls {
    std::vector<std::vector<int64_t>> accepted, declined;
};

int64_t elements_of(const std::vector<int64_t>& shape) {
    int64_t elements = 1;
    for (const int64_t size : shape) elements *= size;
    return elements;
}

/// Whether each declined shape meets the condition, and no accepted one.
bool separates(const Calls& calls, const std::function<bool(const std::vector<int64_t>&)>& condition) {
    return std::ranges::all_of(calls.declined, condition) && std::ranges::none_of(calls.accepted, condition);
}

std::string pattern_of(const Calls& calls) {
    constexpr size_t kFewest = 2;
    constexpr int64_t kTiles[] = {2, 4, 8, 16, 32, 64, 128, 256};
    if (calls.accepted.size() < kFewest || calls.declined.size() < kFewest) return "";
    for (const int64_t tile : kTiles) {
        const auto is_odd = [tile](int64_t size) { return size % tile != 0; };
        if (separates(calls, [&](const auto& shape) { return !shape.empty() && is_odd(shape.back()); })) {
            return fmt::format("the last dim of the first tensor is no multiple of {}", tile);
        }
        if (separates(calls, [&](const auto& shape) { return std::ranges::any_of(shape, is_odd); })) {
            return fmt::format("a dim of the first tensor is no multiple of {}", tile);
        }
    }
    std::set<size_t> ranks;
    for (const auto& shape : calls.declined) ranks.insert(shape.size());
    if (separates(calls, [&](const auto& shape) { return ranks.contains(shape.size()); })) {
        return fmt::format("the first tensor has {} dims", fmt::join(ranks, " or "));
    }
    int64_t least = std::numeric_limits<int64_t>::max(), most = 0;
    for (const auto& shape : calls.declined) {
        least = std::min(least, elements_of(shape));
        most = std::max(most, elements_of(shape));
    }
    if (separates(calls, [&](const auto& shape) { return elements_of(shape) >= least; })) {
        return fmt::format("the first tensor has {} elements or more", least);
    }
    if (separates(calls, [&](const auto& shape) { return elements_of(shape) <= most; })) {
        return fmt::format("the first tensor has {} elements or fewer", most);
    }
    return "";
}

std::string text_of(const DeclinedFunction& declined) {
    std::vector<std::string> dtypes;
    for (const auto& [dtype, share] : declined.dtypes) {
        if (share.part > 0) dtypes.push_back(fmt::format("{} {} of {}", dtype, share.part, share.all));
    }
    return fmt::format("{}{}{}", fmt::join(dtypes, ", "), declined.pattern.empty() ? "" : "; ", declined.pattern);
}

}  // namespace

Gaps gaps_of(const std::vector<CaseResult>& results) {
    Gaps gaps;
    std::map<std::string, DeclinedFunction> functions;
    std::map<std::string, std::map<std::string, Calls>> calls;  // by function and dtype
    for (const CaseResult& result : results) {
        // A bad call is to be refused: it shows no gap.
        if (result.suite == kBadSuite) continue;
        for (const StepResult& step : result.steps) {
            if (!step.absent.empty()) ++gaps.absent[step.absent];
            if (result.verdict == Verdict::kNotImplemented && step.verdict == Verdict::kPassed) {
                ++gaps.passed_steps[step.step];
            }
            const bool is_settled = step.verdict == Verdict::kSkipped || step.verdict == Verdict::kNotImplemented;
            if (is_settled && !step.declined) continue;
            DeclinedFunction& function = functions[step.function];
            function.function = step.function;
            Calls& of_dtype = calls[step.function][result.dtype];
            const std::vector<int64_t> shape =
                result.tensors.empty() ? std::vector<int64_t>() : result.tensors.front().shape;
            (step.declined ? of_dtype.declined : of_dtype.accepted).push_back(shape);
            for (Share* share : {&function.calls, &function.dtypes[result.dtype]}) {
                ++share->all;
                share->part += step.declined ? 1 : 0;
            }
        }
    }
    for (auto& [name, function] : functions) {
        if (function.calls.part == 0) continue;
        // A dtype that is always declined has no shapes to compare with.
        Calls mixed;
        for (const auto& [dtype, share] : function.dtypes) {
            if (share.part == share.all) continue;
            const Calls& of_dtype = calls[name][dtype];
            mixed.accepted.insert(mixed.accepted.end(), of_dtype.accepted.begin(), of_dtype.accepted.end());
            mixed.declined.insert(mixed.declined.end(), of_dtype.declined.begin(), of_dtype.declined.end());
        }
        function.pattern = pattern_of(mixed);
        gaps.declined.push_back(std::move(function));
    }
    return gaps;
}

std::string gaps_text(const Gaps& gaps, const Screen& screen) {
    std::string text;
    if (!gaps.absent.empty()) {
        std::vector<std::string> names;
        for (const auto& [name, times] : gaps.absent) names.push_back(name);
        text += fmt::format("\n{} not in the library:\n{}", counted(static_cast<int64_t>(names.size()), "function"),
                            wrapped(listed(names), screen.width));
    }
    if (!gaps.declined.empty()) {
        Table table({{"declined"}, {"calls", Align::kRight}, {"of", Align::kRight}, {"which"}});
        for (const DeclinedFunction& each : gaps.declined) {
            table.add_row(
                {each.function, std::to_string(each.calls.part), std::to_string(each.calls.all), text_of(each)},
                Style::kYellow);
        }
        text += "\n" + table.render(screen);
    }
    if (gaps.passed_steps.empty()) return text;
    std::vector<std::string> steps;
    for (const auto& [step, times] : gaps.passed_steps) steps.push_back(fmt::format("{} {}", times, step));
    return text +
           fmt::format("\nsteps that passed in cases which count as not implemented: {}\n", fmt::join(steps, ", "));
}

Json gaps_json(const Gaps& gaps) {
    Json declined = Json::array();
    for (const DeclinedFunction& each : gaps.declined) {
        Json dtypes = Json::object();
        for (const auto& [dtype, share] : each.dtypes) dtypes[dtype] = {{"declined", share.part}, {"calls", share.all}};
        Json one = {{"function", each.function},
                    {"declined", each.calls.part},
                    {"calls", each.calls.all},
                    {"dtypes", std::move(dtypes)}};
        if (!each.pattern.empty()) one["pattern"] = each.pattern;
        declined.push_back(std::move(one));
    }
    return {{"absent", gaps.absent}, {"declined", std::move(declined)}, {"passed_steps", gaps.passed_steps}};
}

}  // namespace diopi
