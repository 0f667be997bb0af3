#include "report/summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "cases/case.hpp"
#include "json/json_text.hpp"
#include "report/adaptor_table.hpp"
#include "report/coverage.hpp"
#include "report/error_report.hpp"
#include "report/gaps.hpp"
#include "report/refusals.hpp"
#include "schema/schema.hpp"

namespace diopi {

namespace {

struct CountColumn {
    const char* key;
    const char* title;
    int64_t Counts::*member;
};
constexpr std::array kColumns = {CountColumn{"passed", "passed", &Counts::passed},
                                 CountColumn{"failed", "failed", &Counts::failed},
                                 CountColumn{"crashed", "crashed", &Counts::crashed},
                                 CountColumn{"timeout", "timeout", &Counts::timeout},
                                 CountColumn{"skipped", "skipped", &Counts::skipped},
                                 CountColumn{"not_implemented", "not implemented", &Counts::not_implemented},
                                 CountColumn{"advice", "advice", &Counts::advice}};

/// The columns for a table: advice only where there is some.
std::vector<CountColumn> shown_columns(const Counts& all) {
    std::vector<CountColumn> columns(kColumns.begin(), kColumns.end());
    if (all.advice == 0) columns.pop_back();
    return columns;
}

std::vector<std::string> row_of(const std::string& title, const Counts& counts, std::span<const CountColumn> columns) {
    std::vector<std::string> cells = {title, std::to_string(counts.total())};
    for (const CountColumn& column : columns) {
        const int64_t n = counts.*column.member;
        cells.push_back(n == 0 ? "." : std::to_string(n));
    }
    return cells;
}

Style style_of_counts(const Counts& counts) {
    if (counts.failures() > 0) return Style::kRed;
    return counts.passed == 0 ? Style::kYellow : Style::kPlain;
}

Json encode(const DeviceConfigFigures& figures) {
    Json rules = Json::array();
    for (const RuleFigures& rule : figures.rules) {
        rules.push_back(
            {{"rule", rules.size() + 1}, {"effect", rule.effect}, {"reason", rule.reason}, {"matched", rule.matched}});
    }
    return {{"file", figures.file},
            {"device", figures.device},
            {"rules", std::move(rules)},
            {"held_to_tolerance", figures.held}};
}

}  // namespace

void Counts::add(Verdict verdict) {
    switch (verdict) {
        case Verdict::kPassed:
            ++passed;
            return;
        case Verdict::kFailed:
            ++failed;
            return;
        case Verdict::kCrashed:
            ++crashed;
            return;
        case Verdict::kTimeout:
            ++timeout;
            return;
        case Verdict::kSkipped:
            ++skipped;
            return;
        case Verdict::kNotImplemented:
            ++not_implemented;
            return;
        case Verdict::kAdvice:
            ++advice;
            return;
    }
}

Counts count(const std::vector<CaseResult>& results) {
    Counts counts;
    for (const CaseResult& result : results) {
        counts.add(result.verdict);
        counts.hard += result.suite == kHardSuite ? 1 : 0;
        counts.bad += result.suite == kBadSuite ? 1 : 0;
    }
    return counts;
}

std::map<std::string, Counts> count_by_operator(const std::vector<CaseResult>& results) {
    std::map<std::string, Counts> by_operator;
    for (const CaseResult& result : results) by_operator[result.op].add(result.verdict);
    return by_operator;
}

std::string family_of(const std::string& op) {
    const auto found = rows_of(op);
    return found.empty() ? "other" : std::string(name(found.front()->family));
}

std::map<std::string, Counts> count_by_family(const std::vector<CaseResult>& results) {
    std::map<std::string, Counts> by_family;
    for (const CaseResult& result : results) by_family[family_of(result.op)].add(result.verdict);
    return by_family;
}

std::string short_name(const std::string& backend) { return backend.substr(backend.rfind('/') + 1); }

std::string summary_line(const Counts& counts, double seconds, std::string_view unit) {
    std::string text;
    for (const CountColumn& column : kColumns) {
        const int64_t n = counts.*column.member;
        if (n > 0) text += fmt::format("{}{} {}", text.empty() ? ": " : ", ", n, column.title);
    }
    std::vector<std::string> kinds;
    if (counts.hard > 0) kinds.push_back(fmt::format("{} of them hard", counts.hard));
    if (counts.bad > 0) kinds.push_back(counted(counts.bad, "bad call"));
    const std::string among = kinds.empty() ? "" : fmt::format(" ({})", fmt::join(kinds, ", "));
    return fmt::format("{}{}{} ({:.1f} {})", counted(counts.total(), "case"), among, text, seconds, unit);
}

Table summary_table(const std::vector<CaseResult>& results) {
    const Counts all = count(results);
    const std::vector<CountColumn> shown = shown_columns(all);
    std::vector<Column> columns = {{"operator"}, {"cases", Align::kRight}};
    for (const CountColumn& column : shown) columns.push_back({column.title, Align::kRight});
    Table table(std::move(columns));
    const auto by_operator = count_by_operator(results);
    std::vector<std::pair<std::string, Counts>> rows(by_operator.begin(), by_operator.end());
    std::ranges::stable_sort(rows, std::greater<>(), [](const auto& row) { return row.second.failures() > 0; });
    for (const auto& [op, counts] : rows) table.add_row(row_of(op, counts, shown), style_of_counts(counts));
    table.add_row(row_of("all", all, shown), Style::kBold);
    return table;
}

Table durations_table(const std::vector<CaseResult>& results, int64_t most) {
    std::vector<const CaseResult*> slowest;
    for (const CaseResult& result : results) slowest.push_back(&result);
    std::ranges::stable_sort(slowest, std::greater<>(), &CaseResult::seconds);
    slowest.resize(std::min(slowest.size(), static_cast<size_t>(most)));
    Table table({{"slowest case"}, {"dtype"}, {"seconds", Align::kRight}, {"in calls", Align::kRight}});
    for (const CaseResult* result : slowest) {
        double calls = 0;
        for (const StepResult& step : result->steps) calls += step.seconds;
        table.add_row(
            {result->case_id, result->dtype, fmt::format("{:.3f}", result->seconds), fmt::format("{:.3f}", calls)});
    }
    return table;
}

Table rules_table(const DeviceConfigFigures& figures) {
    Table table({{"rule", Align::kRight}, {"cases", Align::kRight}, {"effect"}, {"reason"}});
    int64_t number = 0;
    for (const RuleFigures& rule : figures.rules) {
        const bool idle = rule.matched == 0;
        table.add_row({std::to_string(++number), idle ? "." : std::to_string(rule.matched), rule.effect, rule.reason},
                      idle ? Style::kYellow : Style::kPlain);
    }
    return table;
}

std::string summary_json(const std::vector<CaseResult>& results, const RunFigures& figures) {
    const Counts counts = count(results);
    Json numbers = Json::object();
    for (const CountColumn& column : kColumns) numbers[column.key] = counts.*column.member;
    Json not_passed = Json::array();
    for (const Fault& fault : faults_of(results)) {
        const std::string& id = fault.result->case_id;
        not_passed.push_back({{"case", id},
                              {"function", fault.function},
                              {"verdict", name(fault.verdict)},
                              {"step", fault.step},
                              {"reason", fault.reason},
                              {"repeat", repeat_command(id, figures.options)}});
        if (!fault.bundle.empty()) not_passed.back()["bundle"] = fault.bundle;
        if (fault.result->passes_alone) not_passed.back()["passes_alone"] = true;
        if (fault.kind != FailureKind::kNone) not_passed.back()["kind"] = name(fault.kind);
    }
    Json json = {{"counts", std::move(numbers)},
                 {"not_passed", std::move(not_passed)},
                 {"backend", figures.backend},
                 {"seed", figures.seed},
                 {"seconds", figures.seconds}};
    if (figures.own_tolerances > 0) json["own_tolerances"] = figures.own_tolerances;
    if (figures.left_out > 0) json["left_out"] = figures.left_out;
    json["gaps"] = gaps_json(gaps_of(results));
    json["bad_calls"] = refusals_json(refusals_of(results));
    json["coverage"] = coverage_json(coverage_of(results, figures.without_hard_cases));
    if (!figures.device_config.rules.empty()) json["device_config"] = encode(figures.device_config);
    const AdaptedFunctions adapted = adapted_functions(results);
    if (!adapted.empty()) json["adaptor"] = parse_own(adaptor_json(adapted));
    return indented(json) + "\n";
}

}  // namespace diopi
