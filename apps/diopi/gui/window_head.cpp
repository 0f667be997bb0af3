#include "window_head.hpp"

#include "report/summary.hpp"

namespace diopi {

namespace {

WindowHead kept_head(const KeptHeading& heading) { return {heading.subject, heading.summary, "", false}; }

}  // namespace

WindowHead head_of(const GuiState& state) {
    const KeptViews& reports = state.reports;
    if (state.shown_tab == Tab::kProfile && reports.profile() != nullptr) {
        return kept_head(reports.profile()->view.profile().heading);
    }
    if (state.shown_tab == Tab::kCompare && reports.comparison() != nullptr) {
        return kept_head(reports.comparison()->view.comparison().heading);
    }
    if (state.shown_tab == Tab::kFallback && reports.fallback() != nullptr) {
        return kept_head(reports.fallback()->view.fallback().heading);
    }
    if (state.shown_tab == Tab::kBisect && reports.bisection() != nullptr) {
        return kept_head(reports.bisection()->view.bisection().heading);
    }
    if (!state.has_run) return {state.place, "", ""};
    const RunHeader& header = state.view.header();
    return {short_name(header.backend), state.progress, state.run + ", started " + header.started, true,
            state.is_active};
}

bool has_content(const GuiState& state) { return state.has_run || !state.reports.empty(); }

}  // namespace diopi
