#include "plot.hpp"

#include <algorithm>

namespace diopi {

namespace {

constexpr float kLabelGap = 8;

void draw_label(const ImVec2& place, const std::string& label, const ImVec4& colour) {
    ImGui::GetWindowDrawList()->AddText(place, ImGui::GetColorU32(colour), label.data(), label.data() + label.size());
}

float widest_label(const PlotAxis& axis) {
    float widest = 0;
    for (const auto& [place, label] : axis.marks) widest = std::max(widest, ImGui::CalcTextSize(label.c_str()).x);
    return widest;
}

void draw_x_axis(const PlotArea& area, const PlotAxis& axis, const Palette& colours) {
    const float line = ImGui::GetTextLineHeight();
    for (const auto& [place, label] : axis.marks) {
        const float x = area.at(place, 0).x, width = ImGui::CalcTextSize(label.c_str()).x;
        ImGui::GetWindowDrawList()->AddLine({x, area.start.y}, {x, area.end.y}, ImGui::GetColorU32(colours.line));
        const float left = std::clamp(x - width / 2, area.start.x, std::max(area.start.x, area.end.x - width));
        draw_label({left, area.end.y + 4}, label, colours.soft);
    }
    const float middle = (area.start.x + area.end.x - ImGui::CalcTextSize(axis.title.c_str()).x) / 2;
    draw_label({middle, area.end.y + line + 6}, axis.title, colours.text);
}

void draw_y_axis(const PlotArea& area, const PlotAxis& axis, const Palette& colours) {
    const float line = ImGui::GetTextLineHeight();
    for (const auto& [place, label] : axis.marks) {
        const float y = area.at(0, place).y;
        ImGui::GetWindowDrawList()->AddLine({area.start.x, y}, {area.end.x, y}, ImGui::GetColorU32(colours.line));
        draw_label({area.start.x - kLabelGap - ImGui::CalcTextSize(label.c_str()).x, y - line / 2}, label,
                   colours.soft);
    }
    draw_label({area.start.x, area.start.y - line - 6}, axis.title, colours.text);
}

}  // namespace

ImVec4 mixed_colour(const ImVec4& colour, const ImVec4& other, float share) {
    const auto mixed = [=](float one, float rest) { return share * one + (1 - share) * rest; };
    return {mixed(colour.x, other.x), mixed(colour.y, other.y), mixed(colour.z, other.z), 1};
}

PlotAxis power_axis(std::string title, const LogAxis& axis, size_t most,
                    const std::function<std::string(double power)>& label_of) {
    PlotAxis marked{std::move(title), {}};
    for (const double power : axis.powers(most)) marked.marks.emplace_back(axis.place(power), label_of(power));
    return marked;
}

ImVec2 PlotArea::at(double x, double y) const {
    return {start.x + static_cast<float>(x) * (end.x - start.x), end.y - static_cast<float>(y) * (end.y - start.y)};
}

PlotArea draw_axes(const char* id, const ImVec2& size, const PlotAxis& x, const PlotAxis& y, const Palette& colours) {
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const float line = ImGui::GetTextLineHeight();
    PlotArea area;
    area.start = {corner.x + widest_label(y) + kLabelGap, corner.y + line + 8};
    area.end = {corner.x + size.x - 4, corner.y + size.y - 2 * line - 10};
    draw_x_axis(area, x, colours);
    draw_y_axis(area, y, colours);
    ImGui::InvisibleButton(id, size);
    area.is_hovered = ImGui::IsItemHovered();
    return area;
}

void Dots::draw(const ImVec2& centre, float radius, const ImVec4& colour, const ImVec4& outline) {
    ImDrawList* const list = ImGui::GetWindowDrawList();
    list->AddCircleFilled(centre, radius, ImGui::GetColorU32(colour));
    list->AddCircle(centre, radius + 0.5f, ImGui::GetColorU32(outline));
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const float x = mouse.x - centre.x, y = mouse.y - centre.y, reach = radius + 3;
    if (area_.is_hovered && x * x + y * y <= reach * reach) found_ = count_;
    ++count_;
}

}  // namespace diopi
