#include "tabs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "widgets.hpp"

namespace diopi {

namespace {

struct TabEntry {
    Tab tab;
    const char* title;
    bool (*has)(const GuiState& state);
    /// Draws the tab, or what stands above the tabs inside.
    void (*draw)(GuiState& state);
    const char* remedy;  ///< what is missing and what makes it, if `has` is false
    std::span<const TabEntry> inside = {};
};

/// A run that is not there yet is that of tests.
bool has_tests(const GuiState& state) { return state.has_run || state.reports.empty(); }
bool has_tensors(const GuiState& state) { return has_tests(state) || !state.heat.opened.empty(); }
bool has_profile(const GuiState& state) { return state.reports.profile() != nullptr; }
bool has_comparison(const GuiState& state) { return state.reports.comparison() != nullptr; }
bool has_fallback(const GuiState& state) { return state.reports.fallback() != nullptr; }
bool has_bisection(const GuiState& state) { return state.reports.bisection() != nullptr; }

constexpr TabEntry kProfileTabs[] = {
    {Tab::kRoofline, "Roofline",
     [](const GuiState& state) { return state.reports.profile()->view.roofline().has_value(); }, draw_roofline,
     "no roofs, or no call that counts operations: diopi profile without --no-roofs measures roofs"},
    {Tab::kRatios, "Ratios",
     [](const GuiState& state) { return state.reports.profile()->view.profile().base.has_value(); }, draw_ratios,
     "no ratios: diopi profile --against IMPL or --baseline RUN makes them"},
    {Tab::kTimeline, "Timeline",
     [](const GuiState& state) { return state.reports.profile()->view.timeline().has_value(); }, draw_timeline,
     "no layers: diopi profile --capture FILE has them"},
    {Tab::kOperators, "Operators", has_profile, draw_operator_times, ""},
    {Tab::kCalls, "Calls", has_profile, draw_profiled_calls, ""}};

constexpr TabEntry kCompareTabs[] = {
    {Tab::kDifferences, "Differences", has_comparison, draw_differences, ""},
    {Tab::kCourse, "Course of the error",
     [](const GuiState& state) { return state.reports.comparison()->view.has_course(); }, draw_course,
     "no order of calls: diopi compare --capture FILE has it"},
    {Tab::kUlp, "Errors in ulp", [](const GuiState& state) { return state.reports.comparison()->view.has_ulp(); },
     draw_ulp, "no errors in ulp: diopi compare --ulp counts them"},
    {Tab::kComparedOperators, "Operators", has_comparison, draw_compared_operators, ""}};

constexpr const char* kNoTests = "no tests: diopi test makes them";
constexpr TabEntry kTabs[] = {
    {Tab::kOverview, "Overview", has_tests, draw_overview, kNoTests},
    {Tab::kFailures, "Failures", has_tests, draw_failures, kNoTests},
    {Tab::kSupport, "Support", has_tests, draw_support, kNoTests},
    {Tab::kAccuracy, "Accuracy", has_tests, draw_accuracy, kNoTests},
    {Tab::kTime, "Time", has_tests, draw_times, kNoTests},
    {Tab::kTensors, "Tensors", has_tensors, draw_tensors, "no tests: add --bundle FILE"},
    {Tab::kProfile, "Profile", has_profile, draw_profile_head, "no profile: diopi profile makes it", kProfileTabs},
    {Tab::kCompare, "Compare", has_comparison, draw_compare_head, "no comparison: diopi compare makes it",
     kCompareTabs},
    {Tab::kFallback, "Fallback", has_fallback, draw_fallback, "no fallback: diopi fallback-sim makes it"},
    {Tab::kBisect, "Bisect", has_bisection, draw_bisection, "no bisection: diopi fallback-sim --bisect makes it"}};

/// Whether the wanted tab is this one, or one inside it that is there.
bool leads_to(const TabEntry& entry, const std::optional<Tab>& wanted, const GuiState& state) {
    return entry.tab == wanted || std::ranges::any_of(entry.inside, [&](const TabEntry& inner) {
               return inner.tab == wanted && inner.has(state);
           });
}

/// A tab that is not there yet stays wanted.
void draw_bar(const char* id, std::span<const TabEntry> entries, GuiState& state) {
    if (!ImGui::BeginTabBar(id)) return;
    const std::optional<Tab> wanted = state.wanted_tab;
    for (const TabEntry& entry : entries) {
        if (!entry.has(state)) continue;
        const bool is_wanted = leads_to(entry, wanted, state);
        if (entry.tab == wanted) state.wanted_tab.reset();
        if (!ImGui::BeginTabItem(entry.title, nullptr, is_wanted ? ImGuiTabItemFlags_SetSelected : 0)) continue;
        if (entries.data() == kTabs) state.shown_tab = entry.tab;
        ImGui::BeginChild("content");
        entry.draw(state);
        if (!entry.inside.empty()) draw_bar("inside", entry.inside, state);
        ImGui::EndChild();
        ImGui::EndTabItem();
    }
    ImGui::EndTabBar();
}

}  // namespace

void draw_tabs(GuiState& state) { draw_bar("tabs", kTabs, state); }

std::string missing_tab(const GuiState& state, Tab tab) {
    const auto text_of = [&](const TabEntry& missing) {
        return fmt::format("--gui-tab {}: {} has {}", kTabNames.at(static_cast<size_t>(tab)), state.place,
                           missing.remedy);
    };
    for (const TabEntry& entry : kTabs) {
        const auto inner = std::ranges::find(entry.inside, tab, &TabEntry::tab);
        const bool is_inside = inner != entry.inside.end();
        if (entry.tab != tab && !is_inside) continue;
        if (!entry.has(state)) return text_of(entry);
        return is_inside && !inner->has(state) ? text_of(*inner) : "";
    }
    return "";
}

}  // namespace diopi
