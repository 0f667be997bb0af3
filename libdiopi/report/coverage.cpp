#include "report/coverage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "cases/case.hpp"
#include "report/table.hpp"

namespace diopi {

namespace {

/// A factor of hard cases, and its levels in the plural.
struct Title {
    const char* factor;
    const char* levels;
};
constexpr std::array kTitles = {Title{"dtype", "dtypes"},
                                Title{"size", "sizes"},
                                Title{"form", "shapes"},
                                Title{"layout", "layouts"},
                                Title{"other layout", "layouts of a second operand"},
                                Title{"values", "kinds of values"}};

bool reached_library(const CaseResult& result) {
    return result.verdict != Verdict::kSkipped && result.verdict != Verdict::kNotImplemented;
}

}  // namespace

int64_t Coverage::hard_cases() const {
    int64_t all = 0;
    for (const auto& [op, covered] : operators) all += covered.cases;
    return all;
}

Coverage coverage_of(const std::vector<CaseResult>& results, const std::map<std::string, std::string>& reasons) {
    Coverage coverage;
    const bool has_hard = std::ranges::any_of(results, [](const CaseResult& each) { return each.suite == kHardSuite; });
    if (!has_hard) return coverage;
    for (const CaseResult& result : results) {
        if (!reached_library(result) || result.suite == kBadSuite) continue;
        OperatorCoverage& covered = coverage.operators[result.op];
        for (const StepResult& step : result.steps) covered.histories += step.histories;
        if (result.suite != kHardSuite) continue;
        ++covered.cases;
        ++covered.factors["dtype"][result.dtype];
        for (const auto& [factor, level] : result.choices) ++covered.factors[factor][level];
    }
    for (const auto& [op, covered] : coverage.operators) {
        const auto reason = reasons.find(op);
        if (covered.cases == 0 && reason != reasons.end()) coverage.without_hard_cases.insert(*reason);
    }
    return coverage;
}

std::string coverage_text(const Coverage& coverage, const Screen& screen) {
    if (coverage.hard_cases() == 0) return "";
    std::map<std::string, LevelCounts> all;
    int64_t histories = 0, operators = 0;
    for (const auto& [op, covered] : coverage.operators) {
        histories += covered.histories;
        operators += covered.cases > 0 ? 1 : 0;
        for (const auto& [factor, levels] : covered.factors) {
            for (const auto& [level, cases] : levels) all[factor][level] += cases;
        }
    }
    std::vector<std::string> parts;
    for (const Title& title : kTitles) {
        if (!all[title.factor].empty()) parts.push_back(fmt::format("{} {}", all[title.factor].size(), title.levels));
    }
    std::string text =
        fmt::format("{} of {}: {}; {} after other calls", counted(coverage.hard_cases(), "hard case"),
                    counted(operators, "operator"), fmt::join(parts, ", "), counted(histories, "result"));
    text = "\n" + wrapped(text, screen.width);
    std::map<std::string, std::vector<std::string>> by_reason;
    for (const auto& [op, reason] : coverage.without_hard_cases) by_reason[reason].push_back(op);
    for (const auto& [reason, names] : by_reason) {
        text += wrapped(fmt::format("no hard cases ({}): {}", reason, fmt::join(names, ", ")), screen.width);
    }
    return text;
}

Json coverage_json(const Coverage& coverage) {
    Json operators = Json::object();
    for (const auto& [op, covered] : coverage.operators) {
        operators[op] = {{"hard_cases", covered.cases}, {"histories", covered.histories}, {"factors", covered.factors}};
    }
    return {{"hard_cases", coverage.hard_cases()},
            {"operators", std::move(operators)},
            {"without_hard_cases", coverage.without_hard_cases}};
}

}  // namespace diopi
