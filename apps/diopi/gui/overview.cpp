/// The tab with the verdicts of all cases, the progress of the run, and the verdicts by family.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gui_state.hpp"
#include "widgets.hpp"

namespace diopi {

namespace {

constexpr float kBarHeight = 12;

std::vector<Tile> verdict_tiles(const GuiState& state) {
    const Counts& counts = state.view.counts();
    std::vector<Tile> tiles;
    for (const VerdictColumn& column : shown_verdicts(counts)) {
        const int64_t count = counts.*column.count;
        const ImVec4& colour = count == 0 ? state.colours->soft : state.colours->*column.colour;
        tiles.push_back({std::to_string(count), column.title, colour});
    }
    return tiles;
}

void draw_family(const std::string& family, const Counts& counts, const std::vector<VerdictColumn>& verdicts,
                 const GuiState& state) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    text(family);
    ImGui::TableNextColumn();
    right_text(std::to_string(counts.total()));
    ImGui::TableNextColumn();
    verdict_bar(counts, kBarHeight, *state.colours);
    for (const VerdictColumn& column : verdicts) {
        ImGui::TableNextColumn();
        const int64_t count = counts.*column.count;
        if (count == 0) continue;
        ImGui::PushStyleColor(ImGuiCol_Text, state.colours->*column.colour);
        right_text(std::to_string(count));
        ImGui::PopStyleColor();
    }
}

void draw_families(const GuiState& state) {
    const std::vector<VerdictColumn> verdicts = shown_verdicts(state.view.counts());
    if (!ImGui::BeginTable("families", 3 + static_cast<int>(verdicts.size()), kTableStyle)) return;
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn("family", ImGuiTableColumnFlags_WidthStretch, 2);
    ImGui::TableSetupColumn("cases", ImGuiTableColumnFlags_WidthStretch, 1);
    ImGui::TableSetupColumn("verdicts", ImGuiTableColumnFlags_WidthStretch, 5);
    for (const VerdictColumn& column : verdicts) {
        ImGui::TableSetupColumn(column.title, ImGuiTableColumnFlags_WidthStretch, 1.4f);
    }
    ImGui::TableHeadersRow();
    for (const auto& [family, counts] : state.view.families()) draw_family(family, counts, verdicts, state);
    ImGui::EndTable();
}

}  // namespace

void draw_overview(GuiState& state) {
    if (!state.has_run) return;
    if (state.progress_share < 1) {
        const std::string share = fmt::format("{:.0f}%", 100 * state.progress_share);
        ImGui::ProgressBar(state.progress_share, {-1, 0}, share.c_str());
    }
    draw_tiles(verdict_tiles(state), *state.colours, state.fonts.title);
    verdict_bar(state.view.counts(), kBarHeight, *state.colours);
    command_line(fmt::format("{}", fmt::join(state.view.header().command, " ")), state.fonts.mono);
    ImGui::Spacing();
    draw_families(state);
}

}  // namespace diopi
