/// The tab with the tensors of a comparison that differ: a list, and below it the facts of one.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gui/figure_text.hpp"
#include "gui_state.hpp"
#include "sorted_table.hpp"
#include "widgets.hpp"

namespace diopi {

namespace {

using DifferenceRow = const CompareRow*;

std::string key_of_difference(DifferenceRow row) { return fmt::format("{} {} {}", row->where, row->name, row->place); }

/// The cell that selects the row.
void draw_where(DifferenceRow row, GuiState& state) {
    const std::string key = key_of_difference(row);
    if (ImGui::Selectable("##row", state.difference == key, ImGuiSelectableFlags_SpanAllColumns)) {
        state.difference = key;
    }
    ImGui::SameLine(0, 0);
    text(row->where);
}

void draw_difference_list(GuiState& state, const std::vector<DifferenceRow>& rows, float height) {
    const auto figure_of_row = [](const std::optional<double>& figure) { return figure_text(figure); };
    sorted_table<DifferenceRow>(
        "differences",
        {drawn_column<DifferenceRow>("call", 2, [&](DifferenceRow row) { draw_where(row, state); }),
         drawn_column<DifferenceRow>("name", 2, [](DifferenceRow row) { cell_text(row->name); }),
         drawn_column<DifferenceRow>("layer", 2, [](DifferenceRow row) { cell_text(layers_of(*row)); }),
         drawn_column<DifferenceRow>("tensor", 2, [](DifferenceRow row) { cell_text(row->tensor); }),
         {{"largest", 1, true, false},
          [&](DifferenceRow row) { right_text(row->only_in.empty() ? figure_of_row(row->max_abs) : ""); }},
         drawn_column<DifferenceRow>("what", 6, [](DifferenceRow row) { cell_text(difference_text(*row)); })},
        rows, -1, height);
}

void draw_difference_facts(const CompareRow& row, GuiState& state) {
    const Palette& colours = *state.colours;
    if (!begin_facts(row.name, 10, state.fonts.title)) return;
    draw_fact("call", row.where, colours);
    draw_fact("layer", layers_of(row), colours);
    draw_fact("tensor", row.tensor, colours);
    draw_fact("what", difference_text(row), colours);
    if (row.only_in.empty()) {
        draw_fact("largest difference", figure_text(row.max_abs), colours);
        draw_fact("largest relative", figure_text(row.max_rel), colours);
        draw_fact("allowed", allowed_text(row), colours);
        draw_fact("cosine similarity", row.cosine ? fmt::format("{}", *row.cosine) : "", colours);
    }
    for (const std::string& input : row.inputs) draw_fact("input", input, colours);
    for (const std::string& output : row.outputs) draw_fact("output", output, colours);
    ImGui::EndTable();
}

}  // namespace

void draw_differences(GuiState& state) {
    const KeptCompareView& view = state.reports.comparison()->view;
    const std::vector<DifferenceRow>& rows = view.differences();
    if (rows.empty()) {
        const bool is_equal = view.different() + view.alone() == 0;
        coloured_text(is_equal ? "No tensor differs." : "None that the filter chooses.",
                      is_equal ? state.colours->passed : state.colours->text);
        return;
    }
    auto open = std::ranges::find(rows, state.difference, key_of_difference);
    if (open == rows.end()) open = rows.begin();
    state.difference = key_of_difference(*open);
    draw_difference_list(state, rows, table_height(rows.size(), 0.5f));
    ImGui::Spacing();
    draw_difference_facts(**open, state);
}

}  // namespace diopi
