/// The tab with the time of each function's calls.
#include <algorithm>
#include <string>
#include <vector>

#include "gui_state.hpp"
#include "report/profile_table.hpp"
#include "widgets.hpp"

namespace diopi {

namespace {

struct TimeRow {
    const std::string* function;
    const FunctionFigures* figures;

    [[nodiscard]] double mean() const { return figures->seconds / static_cast<double>(figures->calls); }
};

std::vector<TimeRow> time_rows(const RunView& view) {
    std::vector<TimeRow> rows;
    for (const auto& [function, figures] : view.functions()) {
        if (figures.calls > 0) rows.push_back({&function, &figures});
    }
    return rows;
}

void sort_times(std::vector<TimeRow>& rows, const SortOrder& order) {
    std::ranges::stable_sort(rows, [&](const TimeRow& one, const TimeRow& other) {
        const auto& [a, b] = order.is_descending ? std::tie(other, one) : std::tie(one, other);
        switch (order.column) {
            case 1:
                return a.figures->calls < b.figures->calls;
            case 2:
                return a.figures->seconds < b.figures->seconds;
            case 3:
                return a.mean() < b.mean();
            case 4:
                return a.figures->longest < b.figures->longest;
            default:
                return *a.function < *b.function;
        }
    });
}

void draw_time_row(const TimeRow& row, double most, const Palette& colours) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    text(*row.function);
    ImGui::TableNextColumn();
    right_text(std::to_string(row.figures->calls));
    for (const double seconds : {row.figures->seconds, row.mean(), row.figures->longest}) {
        ImGui::TableNextColumn();
        right_text(time_text(seconds));
    }
    ImGui::TableNextColumn();
    const ImVec2 start = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x * static_cast<float>(row.figures->seconds / most);
    const float line = ImGui::GetTextLineHeight();
    ImGui::GetWindowDrawList()->AddRectFilled({start.x, start.y + line * 0.2f},
                                              {start.x + std::max(1.0f, width), start.y + line * 0.8f},
                                              ImGui::GetColorU32(colours.accent));
    ImGui::Dummy({width, line});
}

}  // namespace

void draw_times(GuiState& state) {
    std::vector<TimeRow> rows = time_rows(state.view);
    coloured_text("Time of the calls of each function in the tests, each called once: diopi profile measures.",
                  state.colours->soft);
    if (rows.empty() || !ImGui::BeginTable("times", 6, kTableStyle | ImGuiTableFlags_Sortable)) return;
    ImGui::TableSetupScrollFreeze(0, 1);
    constexpr auto kFigure = ImGuiTableColumnFlags_WidthStretch | ImGuiTableColumnFlags_PreferSortDescending;
    ImGui::TableSetupColumn("function", ImGuiTableColumnFlags_WidthStretch, 3);
    ImGui::TableSetupColumn("calls", kFigure, 1);
    ImGui::TableSetupColumn("all calls", kFigure | ImGuiTableColumnFlags_DefaultSort, 1.2f);
    ImGui::TableSetupColumn("mean", kFigure, 1.2f);
    ImGui::TableSetupColumn("longest", kFigure, 1.2f);
    ImGui::TableSetupColumn("share of the longest", ImGuiTableColumnFlags_WidthStretch | ImGuiTableColumnFlags_NoSort,
                            5);
    ImGui::TableHeadersRow();
    sort_times(rows, sort_order());
    double most = 0;
    for (const TimeRow& row : rows) most = std::max(most, row.figures->seconds);
    for (const TimeRow& row : rows) draw_time_row(row, most, *state.colours);
    ImGui::EndTable();
}

}  // namespace diopi
