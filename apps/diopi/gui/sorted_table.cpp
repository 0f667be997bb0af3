#include "sorted_table.hpp"

#include <fmt/format.h>

namespace diopi {

namespace {

/// A title of figures is at the right, but for the arrow of a sorted column.
void draw_title(const ColumnTitle& title, int column, bool is_sorted) {
    const ImVec2 start = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    // The label has no visible part: a title may be a name from a file.
    ImGui::TableHeader(fmt::format("##title {}", column).c_str());
    const char* const begin = title.text.data();
    const char* const end = begin + title.text.size();
    const float arrow = is_sorted ? ImGui::GetFontSize() : 0;
    const float room = width - arrow - ImGui::CalcTextSize(begin, end).x;
    ImGui::GetWindowDrawList()->AddText({start.x + (title.is_figure ? std::max(0.0f, room) : 0), start.y},
                                        ImGui::GetColorU32(ImGuiCol_Text), begin, end);
}

}  // namespace

void draw_titles(const std::vector<ColumnTitle>& titles, int first_sort) {
    ImGui::TableSetupScrollFreeze(0, 1);
    for (size_t i = 0; i < titles.size(); ++i) {
        ImGuiTableColumnFlags flags = ImGuiTableColumnFlags_WidthStretch;
        if (titles[i].is_figure) flags |= ImGuiTableColumnFlags_PreferSortDescending;
        if (!titles[i].sorts) flags |= ImGuiTableColumnFlags_NoSort;
        if (static_cast<int>(i) == first_sort) flags |= ImGuiTableColumnFlags_DefaultSort;
        ImGui::TableSetupColumn(fmt::format("##column {}", i).c_str(), flags, titles[i].weight);
    }
    ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
    const int sorted = first_sort < 0 ? -1 : sort_order().column;
    for (int i = 0; i < static_cast<int>(titles.size()); ++i) {
        if (!ImGui::TableSetColumnIndex(i)) continue;
        draw_title(titles[static_cast<size_t>(i)], i, i == sorted);
    }
}

float table_height(size_t rows, float most_share) {
    const float line = ImGui::GetTextLineHeight() + 2 * ImGui::GetStyle().CellPadding.y;
    const float all = line * static_cast<float>(rows + 1) + 4;
    return std::min(all, ImGui::GetContentRegionAvail().y * most_share);
}

}  // namespace diopi
