/// The tab with the timeline of a captured step.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "gui_state.hpp"
#include "plot.hpp"
#include "report/profile_table.hpp"
#include "widgets.hpp"

namespace diopi {

namespace {

/// The heights of a lane for text of 15 points, and the gap below it.
constexpr float kLeastLane = 26, kMostLane = 44, kLaneGap = 3;
/// Points from which on a call is separated from the next one.
constexpr float kSeparated = 3;

/// The last name of a layer.
std::string box_label(const TimelineBox& box) {
    return box.call != nullptr ? box.name : box.name.substr(box.name.rfind('.') + 1);
}

ImVec4 phase_colour(const std::string& phase, const Palette& colours) {
    if (phase == "backward") return colours.missing_back;
    return phase == "optimizer" ? colours.skipped_back : colours.panel;
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
    /// Separates a call from the next one; after all boxes, as short calls would cover it.
    void draw_end(const TimelineBox& box);
    [[nodiscard]] const TimelineBox* under_mouse() const { return found_; }

 private:
    [[nodiscard]] float x_of(double seconds) const {
        const auto& [from, to] = state_.zoom;
        return start_.x + static_cast<float>((seconds / view_.timeline()->seconds - from) / (to - from)) * size_.x;
    }
    /// Upper left and lower right, of the part that is shown.
    [[nodiscard]] std::pair<ImVec2, ImVec2> corners_of(const TimelineBox& box) const;
    [[nodiscard]] ImVec4 colour_of_box(const TimelineBox& box) const;

    const KeptProfileView& view_;
    const GuiState& state_;
    ImVec2 start_, size_;
    float lane_;
    const TimelineBox* found_ = nullptr;
};

ImVec4 TimelineBoxes::colour_of_box(const TimelineBox& box) const {
    const Palette& colours = *state_.colours;
    if (box.call == nullptr) return phase_colour(box.phase, colours);
    return mixed_colour(colours.accent, colours.back, view_.shows(*box.call) ? 0.75f : 0.12f);
}

std::pair<ImVec2, ImVec2> TimelineBoxes::corners_of(const TimelineBox& box) const {
    const float left = std::max(start_.x, x_of(box.from)), right = std::min(start_.x + size_.x, x_of(box.to));
    const float top = start_.y + static_cast<float>(box.lane) * lane_;
    const float gap = kLaneGap * ImGui::GetFontSize() / 15;
    return {{left, top}, {std::max(left + 0.5f, right), top + lane_ - gap}};
}

void TimelineBoxes::draw(const TimelineBox& box) {
    if (x_of(box.to) < start_.x || x_of(box.from) > start_.x + size_.x) return;
    const auto [from, to] = corners_of(box);
    const Palette& colours = *state_.colours;
    ImDrawList* const list = ImGui::GetWindowDrawList();
    list->AddRectFilled(from, to, ImGui::GetColorU32(colour_of_box(box)));
    if (box.call == nullptr) list->AddRect(from, to, ImGui::GetColorU32(colours.line));
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    if (mouse.x >= from.x && mouse.x < to.x && mouse.y >= from.y && mouse.y < to.y) found_ = &box;
    const std::string label = box_label(box);
    const ImVec2 size = ImGui::CalcTextSize(label.c_str());
    if (size.x + 6 > to.x - from.x) return;
    const bool is_filled = box.call != nullptr && view_.shows(*box.call);
    list->AddText({(from.x + to.x - size.x) / 2, (from.y + to.y - size.y) / 2},
                  ImGui::GetColorU32(is_filled ? colours.back : colours.text), label.c_str());
}

void TimelineBoxes::draw_end(const TimelineBox& box) {
    const auto [from, to] = corners_of(box);
    if (box.call == nullptr || to.x - from.x < kSeparated) return;
    ImGui::GetWindowDrawList()->AddRectFilled({to.x - 1, from.y}, to, ImGui::GetColorU32(state_.colours->back));
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

/// The times at both ends, and between them the colours of the phases if there are several.
void draw_below(const KeptProfileView& view, const GuiState& state, float width) {
    const Palette& colours = *state.colours;
    const double beginning = state.zoom.from * view.timeline()->seconds;
    coloured_text(beginning == 0 ? "0" : time_text(beginning), colours.soft);
    std::vector<std::string> phases;
    for (const TimelineBox& box : view.timeline()->boxes) {
        if (!box.phase.empty() && std::ranges::count(phases, box.phase) == 0) phases.push_back(box.phase);
    }
    const float line = ImGui::GetTextLineHeight();
    ImGui::SameLine(width / 2 - 10 * line);
    for (const std::string& phase : phases.size() > 1 ? phases : std::vector<std::string>()) {
        legend_box(phase_colour(phase, colours), colours.line);
        coloured_text(phase, colours.soft);
        ImGui::SameLine(0, line);
    }
    const std::string end = time_text(state.zoom.to * view.timeline()->seconds);
    ImGui::SameLine(width - ImGui::CalcTextSize(end.c_str()).x);
    coloured_text(end, colours.soft);
}

}  // namespace

void draw_timeline(GuiState& state) {
    const KeptProfileView& view = state.reports.profile()->view;
    note_text(
        "One step: its calls in their order, each as long as its median, without the time between calls; above them "
        "their layers. The wheel zooms, a drag moves, a double click shows all.",
        *state.colours);
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
    for (const TimelineBox& box : view.timeline()->boxes) boxes.draw_end(box);
    draw_below(view, state, size.x);
    if (is_hovered && boxes.under_mouse() != nullptr) tooltip(box_text(*boxes.under_mouse()));
}

}  // namespace diopi
