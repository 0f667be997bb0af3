#include "report/standard_coverage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "json/json_text.hpp"
#include "report/table.hpp"
#include "schema/schema.hpp"

namespace diopi {

namespace {

struct FamilyCounts {
    int64_t functions = 0, there = 0, reached = 0, passed = 0;

    void add(const CoveredFunction& function) {
        ++functions;
        there += function.is_there ? 1 : 0;
        reached += function.is_there && function.calls > 0 ? 1 : 0;
        passed += function.passed > 0 ? 1 : 0;
    }
    [[nodiscard]] std::vector<std::string> cells(std::string title) const {
        return {std::move(title), std::to_string(functions), std::to_string(there), std::to_string(reached),
                std::to_string(passed)};
    }
};

std::string list_text(const char* title, const std::vector<std::string_view>& names, const Screen& screen) {
    if (names.empty()) return "";
    return "\n" + wrapped(fmt::format("{} ({}): {}", title, names.size(), fmt::join(names, ", ")), screen.width);
}

}  // namespace

StandardCoverage standard_coverage(const Journal& journal, const Backend& library) {
    StandardCoverage coverage{journal.header.backend, {}};
    for (const Row& row : rows()) {
        coverage.functions.push_back({row.function, row.op, name(row.family), library.implements(row)});
    }
    for (const CaseResult& result : journal.results) {
        for (const StepResult& step : result.steps) {
            const Row* row = find_row(step.symbol);
            if (step.verdict == Verdict::kPassed && row == nullptr) coverage.has_symbols = false;
            if (row == nullptr) continue;
            CoveredFunction& function = coverage.functions[row->index()];
            ++function.calls;
            function.passed += step.verdict == Verdict::kPassed ? 1 : 0;
        }
    }
    return coverage;
}

std::string standard_coverage_text(const StandardCoverage& coverage, const Screen& screen) {
    std::map<std::string_view, FamilyCounts> families;
    FamilyCounts all;
    std::vector<std::string_view> lacking, unreached, failing;
    for (const CoveredFunction& function : coverage.functions) {
        families[function.family].add(function);
        all.add(function);
        if (!function.is_there) lacking.push_back(function.function);
        if (function.is_there && function.calls == 0) unreached.push_back(function.function);
        if (function.is_there && function.calls > 0 && function.passed == 0) failing.push_back(function.function);
    }
    Table table({{"family"},
                 {"functions", Align::kRight},
                 {coverage.backend, Align::kRight},
                 {"reached", Align::kRight},
                 {"passed", Align::kRight}});
    for (const auto& [family, counts] : families) table.add_row(counts.cells(std::string(family)));
    table.add_row(all.cells("all"), Style::kBold);
    return table.render(screen) + list_text("Not in the library", lacking, screen) +
           list_text("No case of the run reaches", unreached, screen) +
           list_text("Reached, and no call passed", failing, screen);
}

std::string standard_coverage_json(const StandardCoverage& coverage) {
    Json functions = Json::array();
    for (const CoveredFunction& function : coverage.functions) {
        functions.push_back({{"function", function.function},
                             {"operator", function.op},
                             {"family", function.family},
                             {"there", function.is_there},
                             {"calls", function.calls},
                             {"passed", function.passed}});
    }
    return indented({{"backend", coverage.backend}, {"functions", std::move(functions)}}) + "\n";
}

}  // namespace diopi
