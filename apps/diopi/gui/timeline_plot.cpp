/// The tab with the timeline of a captured step.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "gui_state.hpp"
#include "plot.hpp"
#include "report/profile_table.hpp"
#include "widgets.hpp"

namespace diopi {

namespace {

/// The heights of a lane for text of 15 points, and the gap below it.
constexpr float kLeastLane = 26, kMostLane = 44, kLaneGap = 3;

/// The last name of a layer.
std::string box_label(const TimelineBox& box) {
    return box.call != nullptr ? box.name : box.name.substr(box.name.rfind('.') + 1);
}

std::string box_text(const TimelineBox& box) {
    const std::string& layer = box.call != nullptr ? box.call->layer : "";
    std::string text = box.name;
    for (const std::string& part : {layer, box.phase}) text += part.empty() ? "" : " " + part;
    text += "\n" + time_text(box.to - box.from);
    if (box.call != nullptr) text += fmt::format("\n{} {}", box.call->dtype, box.call->shapes);
    return text;
}

/// Draws the boxes of a timeline and finds the one under the mouse.
class TimelineBoxes {
 public:
    TimelineBoxes(const KeptProfileView& view, const GuiState& state, const ImVec2& start, const ImVec2& size)
        : view_(view),
          state_(state),
          start_(start),
          size_(size),
          lane_(size.y / static_cast<float>(view.timeline()->lanes)) {}

    void draw(const TimelineBox& box);
    [[nodiscard]] const TimelineBox* under_mouse() const { return found_; }

 private:
    [[nodiscard]] float x_of(double seconds) const {
        const auto& [from, to] = state_.zoom;
        return start_.x + static_cast<float>((seconds / view_.timeline()->seconds - from) / (to - from)) * size_.x;
    }
    [[nodiscard]] ImVec4 colour_of_box(const TimelineBox& box) const;

    const KeptProfileView& view_;
    const GuiState& state_;
    ImVec2 start_, size_;
    float lane_;
    const TimelineBox* found_ = nullptr;
};

ImVec4 TimelineBoxes::colour_of_box(const TimelineBox& box) const {
    const Palette& colours = *state_.colours;
    if (box.call != nullptr) return faded_colour(colours.accent, view_.shows(*box.call) ? 0.75f : 0.12f);
    if (box.phase == "backward") return colours.missing_back;
    return box.phase == "optimizer" ? colours.skipped_back : colours.panel;
}

void TimelineBoxes::draw(const TimelineBox& box) {
    const float left = std::max(start_.x, x_of(box.from)), right = std::min(start_.x + size_.x, x_of(box.to));
    if (right < start_.x || left > start_.x + size_.x) return;
    const float scale = ImGui::GetFontSize() / 15;
    const ImVec2 from = {left, start_.y + static_cast<float>(box.lane) * lane_};
    const ImVec2 to = {std::max(left + 0.5f, right - 0.6f), from.y + lane_ - kLaneGap * scale};
    const Palette& colours = *state_.colours;
    ImDrawList* const list = ImGui::GetWindowDrawList();
    list->AddRectFilled(from, to, ImGui::GetColorU32(colour_of_box(box)));
    if (box.call == nullptr) list->AddRect(from, to, ImGui::GetColorU32(colours.line));
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    if (mouse.x >= left && mouse.x < right && mouse.y >= from.y && mouse.y < to.y) found_ = &box;
    const std::string label = box_label(box);
    const ImVec2 size = ImGui::CalcTextSize(label.c_str());
    if (size.x + 6 * scale > to.x - from.x) return;
    const bool is_filled = box.call != nullptr && view_.shows(*box.call);
    list->AddText({(from.x + to.x - size.x) / 2, (from.y + to.y - size.y) / 2},
                  ImGui::GetColorU32(is_filled ? colours.back : colours.text), label.c_str());
}

/// The wheel zooms around the mouse, a drag moves, a double click shows all.
void zoom_timeline(TimelineZoom& zoom, float left, float width) {
    const ImGuiIO& io = ImGui::GetIO();
    constexpr double kStep = 0.8, kLeast = 1e-4;
    const double span = zoom.to - zoom.from;
    if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
        zoom = {};
    } else if (io.MouseWheel != 0) {
        const double at = zoom.from + span * static_cast<double>((io.MousePos.x - left) / width);
        const double wanted = std::clamp(span * (io.MouseWheel > 0 ? kStep : 1 / kStep), kLeast, 1.0);
        zoom.from = std::clamp(at - (at - zoom.from) * wanted / span, 0.0, 1 - wanted);
        zoom.to = zoom.from + wanted;
    } else if (ImGui::IsMouseDragging(ImGuiMouseButton_Left)) {
        zoom.from = std::clamp(zoom.from - span * static_cast<double>(io.MouseDelta.x / width), 0.0, 1 - span);
        zoom.to = zoom.from + span;
    }
}

void draw_times_below(const KeptProfileView& view, const GuiState& state, const ImVec2& start, float width) {
    const double beginning = state.zoom.from * view.timeline()->seconds;
    const std::string first = beginning == 0 ? "0" : time_text(beginning);
    const std::string last = time_text(state.zoom.to * view.timeline()->seconds);
    ImDrawList* const list = ImGui::GetWindowDrawList();
    const ImU32 colour = ImGui::GetColorU32(state.colours->soft);
    list->AddText(start, colour, first.c_str());
    list->AddText({start.x + width - ImGui::CalcTextSize(last.c_str()).x, start.y}, colour, last.c_str());
}

}  // namespace

void draw_timeline(GuiState& state) {
    const KeptProfileView& view = state.reports.profile()->view;
    ImGui::PushStyleColor(ImGuiCol_Text, state.colours->soft);
    wrapped_text(
        "One step: its calls in their order, each as long as its median, without the time between calls; above them "
        "their layers. The wheel zooms, a drag moves, a double click shows all.");
    ImGui::PopStyleColor();
    ImGui::Spacing();
    const ImVec2 start = ImGui::GetCursorScreenPos();
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const auto lanes = static_cast<float>(view.timeline()->lanes);
    const float scale = ImGui::GetFontSize() / 15, below = 2 * ImGui::GetTextLineHeight();
    const float lane = std::clamp((room.y - below) / lanes, kLeastLane * scale, kMostLane * scale);
    const ImVec2 size = {room.x, lanes * lane};
    ImGui::InvisibleButton("timeline", size);
    const bool is_hovered = ImGui::IsItemHovered();
    if (is_hovered || ImGui::IsItemActive()) zoom_timeline(state.zoom, start.x, size.x);
    TimelineBoxes boxes(view, state, start, size);
    for (const TimelineBox& box : view.timeline()->boxes) boxes.draw(box);
    draw_times_below(view, state, {start.x, start.y + size.y + 4}, size.x);
    if (is_hovered && boxes.under_mouse() != nullptr) tooltip(box_text(*boxes.under_mouse()));
}

}  // namespace diopi
