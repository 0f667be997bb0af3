#include "report/refusals.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "cases/case.hpp"
#include "report/table.hpp"

namespace diopi {

Refusals refusals_of(const std::vector<CaseResult>& results) {
    Refusals refusals;
    std::map<std::pair<std::string, std::string>, NotRefused> others;
    for (const CaseResult& result : results) {
        if (result.suite != kBadSuite) continue;
        const bool is_refused = result.verdict == Verdict::kPassed;
        if (!is_refused && result.verdict != Verdict::kAdvice) continue;
        ++refusals.calls;
        refusals.refused += is_refused ? 1 : 0;
        if (is_refused) continue;
        const std::string outcome(name(result.kind));
        NotRefused& other = others[{result.op, outcome}];
        if (other.cases.empty()) {
            other = {result.op, outcome, {}, result.choices.empty() ? "" : result.choices.front().second};
        }
        other.cases.push_back(result.case_id);
    }
    for (auto& [key, other] : others) refusals.others.push_back(std::move(other));
    return refusals;
}

std::string refusals_text(const Refusals& refusals, const Screen& screen) {
    if (refusals.calls == 0) return "";
    std::map<std::string, int64_t> outcomes;
    for (const NotRefused& other : refusals.others) {
        outcomes[other.outcome] += static_cast<int64_t>(other.cases.size());
    }
    std::vector<std::string> parts = {fmt::format("{} refused", refusals.refused)};
    for (const auto& [outcome, calls] : outcomes) parts.push_back(fmt::format("{} {}", calls, outcome));
    const char* advice = refusals.others.empty() ? "" : " (advice: it fails no run)";
    const std::string text =
        "\n" + wrapped(fmt::format("{}: {}{}", counted(refusals.calls, "bad call"), fmt::join(parts, ", "), advice),
                       screen.width);
    if (refusals.others.empty()) return text;
    Table table({{"bad calls of"}, {"calls", Align::kRight}, {"were"}, {"the first one"}});
    for (const NotRefused& other : refusals.others) {
        table.add_row({other.op, std::to_string(other.cases.size()), other.outcome,
                       fmt::format("{}: {}", other.cases.front(), other.example)},
                      Style::kYellow);
    }
    return text + table.render(screen);
}

Json refusals_json(const Refusals& refusals) {
    Json others = Json::array();
    for (const NotRefused& other : refusals.others) {
        others.push_back(
            {{"operator", other.op}, {"outcome", other.outcome}, {"example", other.example}, {"cases", other.cases}});
    }
    return {{"calls", refusals.calls}, {"refused", refusals.refused}, {"others", std::move(others)}};
}

}  // namespace diopi
