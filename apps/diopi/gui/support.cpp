/// The tab with the support matrix; below it the cases of the cell that is open.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "gui_state.hpp"
#include "widgets.hpp"

namespace diopi {

namespace {

struct CellColours {
    const char* word;
    ImVec4 Palette::*text;
    ImVec4 Palette::*back;
};
constexpr std::array kCellColours = {CellColours{"yes", &Palette::passed, &Palette::passed_back},
                                     CellColours{"FAIL", &Palette::failed, &Palette::failed_back},
                                     CellColours{"part", &Palette::missing, &Palette::missing_back},
                                     CellColours{"no", &Palette::missing, &Palette::missing_back},
                                     CellColours{"skip", &Palette::skipped, &Palette::skipped_back}};

bool is_open(const GuiState& state, const SharedSupport& row, Aspect aspect) {
    return state.cell && state.cell->aspect == aspect && state.cell->row.op == row.op &&
           state.cell->row.dtypes == row.dtypes;
}

/// A cell with a case is a button.
void draw_cell(const SharedSupport& row, Aspect aspect, GuiState& state) {
    const std::string& word = row.words[static_cast<size_t>(aspect)];
    const auto* const colours = std::ranges::find(kCellColours, word, &CellColours::word);
    if (colours == kCellColours.end()) {
        coloured_text(word, state.colours->soft);
        return;
    }
    const ImVec4& back = state.colours->*colours->back;
    ImGui::TableSetBgColor(ImGuiTableBgTarget_CellBg, ImGui::GetColorU32(back));
    ImGui::PushStyleColor(ImGuiCol_Text, state.colours->*colours->text);
    const std::string label = fmt::format("{}##{}", word, static_cast<int>(aspect));
    if (ImGui::Selectable(label.c_str(), is_open(state, row, aspect))) state.cell = OpenCell{row, aspect};
    ImGui::PopStyleColor();
}

void draw_matrix_row(const SharedSupport& row, GuiState& state) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    text(row.op);
    for (const Aspect aspect : kAspects) {
        ImGui::TableNextColumn();
        draw_cell(row, aspect, state);
    }
    ImGui::TableNextColumn();
    wrapped_text(fmt::format("{}", fmt::join(row.dtypes, " ")));
}

void draw_matrix(GuiState& state, float height) {
    constexpr int kColumns = 2 + static_cast<int>(kAspects.size());
    if (!ImGui::BeginTable("matrix", kColumns, kTableStyle | ImGuiTableFlags_BordersInnerV, {0, height})) return;
    ImGui::TableSetupScrollFreeze(1, 1);
    ImGui::TableSetupColumn("operator", ImGuiTableColumnFlags_WidthStretch, 3);
    for (const Aspect aspect : kAspects) {
        ImGui::TableSetupColumn(std::string(name(aspect)).c_str(), ImGuiTableColumnFlags_WidthFixed,
                                5 * ImGui::GetFontSize());
    }
    ImGui::TableSetupColumn("dtypes", ImGuiTableColumnFlags_WidthStretch, 7);
    ImGui::TableHeadersRow();
    int number = 0;
    for (const SharedSupport& row : state.view.support()) {
        ImGui::PushID(++number);
        draw_matrix_row(row, state);
        ImGui::PopID();
    }
    ImGui::EndTable();
}

void draw_cases(const GuiState& state) {
    const OpenCell& cell = *state.cell;
    const std::vector<const CaseResult*> cases = state.view.cases_of(cell.row, cell.aspect);
    coloured_text(fmt::format("{}, {}, {}: {} cases", cell.row.op, name(cell.aspect), fmt::join(cell.row.dtypes, " "),
                              cases.size()),
                  state.colours->soft);
    if (!ImGui::BeginTable("cases", 3, kTableStyle)) return;
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn("verdict", ImGuiTableColumnFlags_WidthStretch, 1);
    ImGui::TableSetupColumn("case", ImGuiTableColumnFlags_WidthStretch, 3);
    ImGui::TableSetupColumn("reason", ImGuiTableColumnFlags_WidthStretch, 6);
    ImGui::TableHeadersRow();
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(cases.size()));
    while (clipper.Step()) {
        for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
            const CaseResult& result = *cases[static_cast<size_t>(i)];
            ImGui::TableNextRow();
            ImGui::TableNextColumn();
            coloured_text(name(result.verdict), colour_of(result.verdict, *state.colours));
            ImGui::TableNextColumn();
            text(result.case_id);
            ImGui::TableNextColumn();
            text(result.reason);
        }
    }
    ImGui::EndTable();
}

}  // namespace

void draw_support(GuiState& state) {
    coloured_text(
        "yes: all cases pass that are not skipped. part: some are not implemented. no: none is implemented. "
        "FAIL: some fail. A click on a cell opens its cases.",
        state.colours->soft);
    const float height = ImGui::GetContentRegionAvail().y;
    const float rows = ImGui::GetFrameHeight() * static_cast<float>(state.view.support().size() + 3);
    draw_matrix(state, state.cell ? std::min(rows, height * 0.6f) : height);
    if (state.cell) draw_cases(state);
}

}  // namespace diopi
