#include "widgets.hpp"

#include <fmt/format.h>

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

void divided_bar(const std::vector<BarPart>& parts, float height, float width) {
    double all = 0;
    for (const BarPart& part : parts) all += part.size;
    const ImVec2 start = ImGui::GetCursorScreenPos();
    const float line = ImGui::GetTextLineHeight(), top = start.y + std::max(0.0f, (line - height) / 2);
    ImDrawList* const list = ImGui::GetWindowDrawList();
    float left = start.x;
    const BarPart* under_mouse = nullptr;
    for (const BarPart& part : parts) {
        if (part.size <= 0) continue;
        // A few cases among thousands must be seen, too.
        const float wanted = std::max(2.0f, static_cast<float>(part.size / all) * width);
        const float right = std::min(start.x + width, left + wanted);
        list->AddRectFilled({left, top}, {right, top + height}, ImGui::GetColorU32(part.colour));
        const float mouse = ImGui::GetIO().MousePos.x;
        if (mouse >= left && mouse < right) under_mouse = &part;
        left = right;
    }
    ImGui::Dummy({width, std::max(line, height)});
    if (ImGui::IsItemHovered() && under_mouse != nullptr && !under_mouse->title.empty()) tooltip(under_mouse->title);
}

void verdict_bar(const Counts& counts, float height, const Palette& colours) {
    std::vector<BarPart> parts;
    for (const VerdictColumn& column : kVerdictColumns) {
        parts.push_back({static_cast<double>(counts.*column.count), colours.*column.colour,
                         fmt::format("{} {}", counts.*column.count, column.title)});
    }
    divided_bar(parts, height, ImGui::GetContentRegionAvail().x);
}

void legend_box(const ImVec4& colour, const ImVec4& outline) {
    const float line = ImGui::GetTextLineHeight(), side = 0.8f * line;
    const ImVec2 start = ImGui::GetCursorScreenPos();
    const ImVec2 from = {start.x, start.y + 0.15f * line}, to = {start.x + side, start.y + 0.15f * line + side};
    ImGui::GetWindowDrawList()->AddRectFilled(from, to, ImGui::GetColorU32(colour), 3);
    ImGui::GetWindowDrawList()->AddRect(from, to, ImGui::GetColorU32(outline), 3);
    ImGui::Dummy({side, line});
    ImGui::SameLine(0, 5);
}

void draw_tiles(const std::vector<Tile>& tiles, const Palette& colours, ImFont* number_font) {
    for (size_t i = 0; i < tiles.size(); ++i) {
        const auto& [number, title, colour] = tiles[i];
        const float least = 80 * ImGui::GetFontSize() / 15;
        ImGui::PushFont(number_font);
        const float number_width = ImGui::CalcTextSize(number.c_str()).x;
        ImGui::PopFont();
        const float width = std::max({ImGui::CalcTextSize(title.c_str()).x, number_width, least}) + 28;
        if (i > 0) ImGui::SameLine();
        if (i > 0 && ImGui::GetContentRegionAvail().x < width) ImGui::NewLine();
        ImGui::PushStyleColor(ImGuiCol_ChildBg, colours.panel);
        ImGui::BeginChild(fmt::format("tile {}", i).c_str(), {width, 3.9f * ImGui::GetFontSize()}, true,
                          ImGuiWindowFlags_NoScrollbar);
        ImGui::PushFont(number_font);
        coloured_text(number, colour);
        ImGui::PopFont();
        coloured_text(title, colours.soft);
        ImGui::EndChild();
        ImGui::PopStyleColor();
    }
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

void note_text(std::string_view text, const Palette& colours) {
    ImGui::PushStyleColor(ImGuiCol_Text, colours.soft);
    wrapped_text(text);
    ImGui::PopStyleColor();
}

void right_text(std::string_view text) {
    const float width = ImGui::CalcTextSize(text.data(), text.data() + text.size()).x;
    ImGui::SetCursorPosX(ImGui::GetCursorPosX() + std::max(0.0f, ImGui::GetContentRegionAvail().x - width));
    ImGui::TextUnformatted(text.data(), text.data() + text.size());
}

bool elided_text(std::string_view text, float width) {
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    if (ImGui::CalcTextSize(begin, end).x <= width) {
        ImGui::TextUnformatted(begin, end);
        return false;
    }
    constexpr const char* kDots = "...";
    const float room = std::max(0.0f, width - ImGui::CalcTextSize(kDots).x);
    const char* rest = begin;
    ImGui::GetFont()->CalcTextSizeA(ImGui::GetFontSize(), room, 0, begin, end, &rest);
    const std::string shown = std::string(begin, rest) + kDots;
    ImGui::TextUnformatted(shown.data(), shown.data() + shown.size());
    return true;
}

void cell_text(const std::string& text) {
    const bool is_cut = elided_text(text, ImGui::GetContentRegionAvail().x);
    if (is_cut && ImGui::IsItemHovered()) tooltip(text);
}

void tooltip(std::string_view text) {
    ImGui::BeginTooltip();
    ImGui::PushTextWrapPos(45 * ImGui::GetFontSize());
    ImGui::TextUnformatted(text.data(), text.data() + text.size());
    ImGui::PopTextWrapPos();
    ImGui::EndTooltip();
}

bool begin_facts(std::string_view heading, float title_width, ImFont* font) {
    ImGui::PushFont(font);
    text(heading);
    ImGui::PopFont();
    if (!ImGui::BeginTable("facts", 2, ImGuiTableFlags_ScrollY)) return false;
    ImGui::TableSetupColumn("title", ImGuiTableColumnFlags_WidthFixed, title_width * ImGui::GetFontSize());
    ImGui::TableSetupColumn("value", ImGuiTableColumnFlags_WidthStretch);
    return true;
}

void draw_fact(const char* title, const std::string& value, const Palette& colours) {
    if (value.empty()) return;
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    coloured_text(title, colours.soft);
    ImGui::TableNextColumn();
    wrapped_text(value);
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
