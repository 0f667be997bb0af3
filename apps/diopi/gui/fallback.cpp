/// The tabs of fallback-sim: the cost by operator and the results that change, and what --bisect found to blame.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gui/figure_text.hpp"
#include "gui_state.hpp"
#include "kept_head.hpp"
#include "report/profile_table.hpp"
#include "report/table.hpp"
#include "sorted_table.hpp"
#include "widgets.hpp"

namespace diopi {

namespace {

std::string count_text(int64_t count) { return std::to_string(count); }
std::string device_time_text(double seconds) { return seconds > 0 ? time_text(seconds) : ""; }
std::string cost_text(double seconds) { return seconds < 0 ? "-" + time_text(-seconds) : time_text(seconds); }

void draw_heading(const char* title, const GuiState& state) {
    ImGui::Spacing();
    ImGui::PushFont(state.fonts.title);
    text(title);
    ImGui::PopFont();
}

std::vector<Tile> fallback_tiles(const KeptFallbackView& view, const Palette& colours) {
    const FallbackRecord& record = view.fallback().record;
    std::vector<Tile> tiles = {{std::to_string(view.calls()), "calls fall back", colours.text},
                               {time_text(record.step_seconds), "step on " + record.backend, colours.text}};
    if (view.is_forced()) {
        tiles.push_back({time_text(record.step_seconds_with), "with the fallback", colours.text});
        tiles.push_back(
            {fmt::format("{:.2f} \u00d7", record.step_seconds_with / record.step_seconds), "as long", colours.text});
    }
    tiles.push_back({std::to_string(record.changed.size()),
                     fmt::format("of {} change", counted(record.results, "result")), colours.text});
    tiles.push_back(
        {std::to_string(view.beyond()), "beyond the tolerance", view.beyond() > 0 ? colours.failed : colours.soft});
    return tiles;
}

void draw_missing_anywhere(const FallbackRecord& record) {
    std::vector<std::string> missing;
    for (const auto& [name, calls] : record.missing) {
        missing.push_back(fmt::format("{} ({})", name, counted(calls, "call")));
    }
    if (!missing.empty()) wrapped_text(fmt::format("Not implemented anywhere: {}.", fmt::join(missing, ", ")));
}

/// Copying, then the calls elsewhere, in the scale of the most expensive operator.
void draw_cost_bar(const FallbackCost& cost, double longest, const GuiState& state) {
    const Palette& colours = *state.colours;
    const float width = ImGui::GetContentRegionAvail().x * static_cast<float>(cost.seconds() / longest);
    divided_bar({{cost.copying.seconds, colours.advice, "copying " + time_text(cost.copying.seconds)},
                 {cost.row->other_seconds, colours.accent, "calls " + time_text(cost.row->other_seconds)}},
                0.7f * ImGui::GetTextLineHeight(), std::max(4.0f, width));
}

void draw_costs(const KeptFallbackView& view, const GuiState& state, float height) {
    using Row = FallbackCost;
    const FallbackRecord& record = view.fallback().record;
    double longest = 1e-12;
    for (const Row& row : view.costs()) longest = std::max(longest, row.seconds());
    sorted_table<Row>(
        "costs",
        {name_column<Row>("operator", 2.2f, [](const Row& row) -> const std::string& { return row.row->overload; }),
         name_column<Row>("why", 1.8f, [](const Row& row) { return name(row.row->reason); }),
         figure_column<Row>(
             "calls", 0.9f, [](const Row& row) { return row.row->calls; }, count_text),
         figure_column<Row>(
             "copies", 1, [](const Row& row) { return row.copying.copies; }, count_text),
         figure_column<Row>(
             "bytes", 1.2f, [](const Row& row) { return static_cast<double>(row.copying.nbytes); },
             [](double bytes) { return scaled_text(bytes, "B"); }),
         figure_column<Row>(
             "copying", 1.3f, [](const Row& row) { return row.copying.seconds; }, time_text),
         figure_column<Row>(
             "on " + record.backend, 1.3f, [](const Row& row) { return row.row->device_seconds; }, device_time_text),
         figure_column<Row>(
             "on " + record.other, 1.3f, [](const Row& row) { return row.row->other_seconds; }, time_text),
         figure_column<Row>(
             "costs", 1.3f, [](const Row& row) { return row.cost; }, cost_text),
         drawn_column<Row>("copying, then the calls", 4, [&](const Row& row) { draw_cost_bar(row, longest, state); })},
        view.costs(), 8, height);
}

void draw_changed(const KeptFallbackView& view, const GuiState& state) {
    using Row = const ChangedResult*;
    sorted_table<Row>("changed",
                      {name_column<Row>("result", 4, [](Row row) -> const std::string& { return row->tensor; }),
                       figure_column<Row>(
                           "largest difference", 2, [](Row row) { return row->max_abs; }, figure_text),
                       figure_column<Row>(
                           "largest relative", 2, [](Row row) { return row->max_rel; }, figure_text),
                       {{"tolerance", 2},
                        [&](Row row) {
                            coloured_text(row->within ? "within" : "beyond",
                                          row->within ? state.colours->passed : state.colours->failed);
                        },
                        [](Row one, Row other) { return one->within < other->within; }}},
                      view.changed(), 2);
}

void draw_blamed_functions(const KeptBisectView& view, float height) {
    using Row = const BisectRecord::Function*;
    const auto overloads_of = [](Row row) { return fmt::format("{}", fmt::join(row->overloads, ", ")); };
    sorted_table<Row>("functions",
                      {name_column<Row>("function", 3, [](Row row) -> const std::string& { return row->function; }),
                       name_column<Row>("operators", 5, overloads_of),
                       figure_column<Row>(
                           "calls", 1, [](Row row) { return row->calls; }, count_text)},
                      view.functions(), 0, height);
}

void draw_blamed_calls(const KeptBisectView& view) {
    using Row = const BisectRecord::CapturedCall*;
    sorted_table<Row>("blamed calls",
                      {figure_column<Row>(
                           "call", 1, [](Row row) { return static_cast<int64_t>(row->number); }, count_text),
                       name_column<Row>("operator", 3, [](Row row) -> const std::string& { return row->overload; }),
                       name_column<Row>("function", 3, [](Row row) -> const std::string& { return row->function; }),
                       name_column<Row>("layer", 4, [](Row row) -> const std::string& { return row->layer; }),
                       name_column<Row>("source", 4, [](Row row) -> const std::string& { return row->source; })},
                      view.calls(), -1);
}

}  // namespace

void draw_fallback(GuiState& state) {
    const auto& [about, view] = *state.reports.fallback();
    draw_about(about, state);
    draw_tiles(fallback_tiles(view, *state.colours), *state.colours, state.fonts.title);
    draw_missing_anywhere(view.fallback().record);
    draw_heading("Cost by operator", state);
    note_text("Time of all calls of an operator in one step: on the device, and after the fallback.", *state.colours);
    const bool has_changes = !view.fallback().record.changed.empty();
    draw_costs(view, state, has_changes ? table_height(view.costs().size(), 0.5f) : 0);
    if (!has_changes) return;
    draw_heading("Changed results", state);
    draw_changed(view, state);
}

void draw_bisection(GuiState& state) {
    const auto& [about, view] = *state.reports.bisection();
    const BisectRecord& record = view.bisection().record;
    draw_about(about, state);
    if (!record.reason.empty()) {
        wrapped_text(fmt::format("Without fallback: {}{}", record.reason, record.flaky ? " (not every time)" : ""));
    }
    draw_heading("Functions to blame", state);
    draw_blamed_functions(view, table_height(std::max<size_t>(1, view.functions().size()), 0.5f));
    if (record.calls.empty()) return;
    draw_heading("Calls to blame", state);
    draw_blamed_calls(view);
}

}  // namespace diopi
