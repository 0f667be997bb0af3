#include "gui/run_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cases/case.hpp"
#include "core/glob.hpp"
#include "core/text.hpp"
#include "journal/case_order.hpp"

namespace diopi {

namespace {

bool filter_keeps(std::string_view filter, const CaseResult& result) {
    return filter_matches(filter, result.op) || std::ranges::any_of(result.steps, [&](const StepResult& step) {
               return filter_matches(filter, step.function);
           });
}

}  // namespace

bool filter_matches(std::string_view filter, std::string_view name) {
    bool has_word = false;
    while (!filter.empty()) {
        const size_t end = std::min(filter.find(' '), filter.size());
        const std::string_view word = filter.substr(0, end);
        filter.remove_prefix(std::min(end + 1, filter.size()));
        if (word.empty()) continue;
        has_word = true;
        if (matches_glob("*" + lower_case(word) + "*", lower_case(name))) return true;
    }
    return !has_word;
}

std::string progress_text(const Journal& journal, bool is_active) {
    const auto done = static_cast<int64_t>(journal.results.size());
    if (is_active) return fmt::format("running: {} of {} cases", done, journal.header.cases);
    if (done >= journal.header.cases) return fmt::format("{} cases", done);
    return fmt::format("stopped after {} of {} cases: diopi test --resume runs the others", done, journal.header.cases);
}

RunView::RunView(const Journal& journal, std::string_view filter) {
    journal_.header = journal.header;
    std::ranges::copy_if(journal.results, std::back_inserter(journal_.results),
                         [&](const CaseResult& result) { return filter_keeps(filter, result); });
    sort_by_case(journal_.results);
    counts_ = count(journal_.results);
    families_ = count_by_family(journal_.results);
    support_ = shared_support(support_of(journal_));
    failures_ = faults_of(journal_.results);
    std::erase_if(failures_, [](const Fault& fault) { return !is_failure(fault.verdict); });
    for (const CaseResult& result : journal_.results) {
        const bool is_wanted = filter_matches(filter, result.op);
        for (const StepResult& step : result.steps) {
            if (is_wanted || filter_matches(filter, step.function)) add_step(step, functions_);
        }
    }
}

std::vector<const CaseResult*> RunView::cases_of(const SharedSupport& row, Aspect aspect) const {
    std::vector<const CaseResult*> cases;
    for (const CaseResult& result : journal_.results) {
        const bool is_row = result.suite != kBadSuite && result.op == row.op &&
                            std::ranges::find(row.dtypes, result.dtype) != row.dtypes.end();
        if (is_row && (aspects_of(result, journal_.header) >> static_cast<unsigned>(aspect) & 1u) != 0) {
            cases.push_back(&result);
        }
    }
    return cases;
}

}  // namespace diopi
