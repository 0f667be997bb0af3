#include "report/adaptor_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "json/json_text.hpp"

namespace diopi {

namespace {

std::string bytes_text(int64_t nbytes) {
    if (nbytes < 10000) return fmt::format("{} B", nbytes);
    if (nbytes < 10000000) return fmt::format("{:.1f} KB", static_cast<double>(nbytes) * 1e-3);
    return fmt::format("{:.1f} MB", static_cast<double>(nbytes) * 1e-6);
}

std::vector<std::string> cells_of(const std::string& title, const AdaptedCalls& calls) {
    return {title,
            std::to_string(calls.calls),
            std::to_string(calls.conversions),
            std::to_string(calls.by_host),
            bytes_text(calls.nbytes),
            fmt::format("{:.3f}ms", calls.seconds * 1e3),
            fmt::format("{}", fmt::join(calls.casts, ", "))};
}

AdaptedCalls sum_of(const AdaptedFunctions& functions) {
    AdaptedCalls sum;
    for (const auto& [function, calls] : functions) sum += calls;
    std::ranges::sort(sum.casts);
    return sum;
}

}  // namespace

AdaptedFunctions adapted_functions(const std::vector<CaseResult>& results) {
    AdaptedFunctions functions;
    for (const CaseResult& result : results) {
        for (const StepResult& step : result.steps) {
            if (step.adapted.calls > 0) functions[step.function] += step.adapted;
        }
    }
    return functions;
}

Table adaptor_table(const AdaptedFunctions& functions) {
    Table table({{"Adapted function"},
                 {"Calls", Align::kRight},
                 {"Conversions", Align::kRight},
                 {"by host", Align::kRight},
                 {"Bytes", Align::kRight},
                 {"Time", Align::kRight},
                 {"Computed"}});
    std::vector<std::pair<std::string, AdaptedCalls>> rows(functions.begin(), functions.end());
    std::ranges::stable_sort(rows, std::greater(), [](const auto& row) { return row.second.seconds; });
    for (const auto& [function, calls] : rows) table.add_row(cells_of(function, calls));
    table.add_row(cells_of("all", sum_of(functions)), Style::kBold);
    return table;
}

std::string adaptor_line(const AdaptedFunctions& functions) {
    const AdaptedCalls sum = sum_of(functions);
    std::string text = fmt::format("{} call{} adapted: {} conversion{} ({} by the host), {}, {:.3f} ms", sum.calls,
                                   sum.calls == 1 ? "" : "s", sum.conversions, sum.conversions == 1 ? "" : "s",
                                   sum.by_host, bytes_text(sum.nbytes), sum.seconds * 1e3);
    if (!sum.casts.empty()) text += fmt::format("; computed: {}", fmt::join(sum.casts, ", "));
    return text;
}

std::string adapted_text(const AdaptedFunctions& functions, const Screen& screen) {
    if (functions.empty()) return "";
    return "\n" + adaptor_table(functions).render(screen) + adaptor_line(functions) + "\n";
}

std::string adaptor_json(const AdaptedFunctions& functions) {
    Json list = Json::array();
    for (const auto& [function, calls] : functions) {
        list.push_back({{"function", function},
                        {"calls", calls.calls},
                        {"conversions", calls.conversions},
                        {"by_host", calls.by_host},
                        {"bytes", calls.nbytes},
                        {"seconds", calls.seconds},
                        {"casts", calls.casts}});
    }
    return one_line(list);
}

}  // namespace diopi
