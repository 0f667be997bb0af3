#include "widgets.hpp"

#include <algorithm>

namespace diopi {

const ImVec4& colour_of(Verdict verdict, const Palette& colours) {
    const auto* const found = std::ranges::find(kVerdictColumns, verdict, &VerdictColumn::verdict);
    return found == kVerdictColumns.end() ? colours.text : colours.*found->colour;
}

std::vector<VerdictColumn> shown_verdicts(const Counts& counts) {
    std::vector<VerdictColumn> shown;
    for (const VerdictColumn& column : kVerdictColumns) {
        const bool is_always = column.verdict == Verdict::kPassed || column.verdict == Verdict::kFailed;
        if (is_always || counts.*column.count > 0) shown.push_back(column);
    }
    return shown;
}

void verdict_bar(const Counts& counts, float height, const Palette& colours) {
    const ImVec2 start = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x, line = ImGui::GetTextLineHeight();
    const float top = start.y + std::max(0.0f, (line - height) / 2);
    ImDrawList* const list = ImGui::GetWindowDrawList();
    float left = start.x;
    for (const VerdictColumn& column : kVerdictColumns) {
        const auto share =
            static_cast<float>(counts.*column.count) / static_cast<float>(std::max<int64_t>(1, counts.total()));
        if (share <= 0) continue;
        // A few cases among thousands must be seen, too.
        const float right = std::min(start.x + width, left + std::max(2.0f, share * width));
        list->AddRectFilled({left, top}, {right, top + height}, ImGui::GetColorU32(colours.*column.colour));
        left = right;
    }
    ImGui::Dummy({width, std::max(line, height)});
}

void text(std::string_view text) { ImGui::TextUnformatted(text.data(), text.data() + text.size()); }

void coloured_text(std::string_view text, const ImVec4& colour) {
    ImGui::PushStyleColor(ImGuiCol_Text, colour);
    ImGui::TextUnformatted(text.data(), text.data() + text.size());
    ImGui::PopStyleColor();
}

void wrapped_text(std::string_view text) {
    ImGui::PushTextWrapPos(0);
    ImGui::TextUnformatted(text.data(), text.data() + text.size());
    ImGui::PopTextWrapPos();
}

void right_text(std::string_view text) {
    const float width = ImGui::CalcTextSize(text.data(), text.data() + text.size()).x;
    ImGui::SetCursorPosX(ImGui::GetCursorPosX() + std::max(0.0f, ImGui::GetContentRegionAvail().x - width));
    ImGui::TextUnformatted(text.data(), text.data() + text.size());
}

void command_line(const std::string& command, ImFont* mono) {
    ImGui::PushID(command.c_str());
    if (ImGui::SmallButton("Copy")) ImGui::SetClipboardText(command.c_str());
    ImGui::SameLine();
    ImGui::PushFont(mono);
    wrapped_text(command);
    ImGui::PopFont();
    ImGui::PopID();
}

SortOrder sort_order() {
    const ImGuiTableSortSpecs* const specs = ImGui::TableGetSortSpecs();
    if (specs == nullptr || specs->SpecsCount == 0) return {};
    return {specs->Specs[0].ColumnIndex, specs->Specs[0].SortDirection == ImGuiSortDirection_Descending};
}

}  // namespace diopi
