/// The tab with the roofline of a profile.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gui/figure_text.hpp"
#include "gui_state.hpp"
#include "plot.hpp"
#include "report/profile_table.hpp"
#include "widgets.hpp"

namespace diopi {

namespace {

/// A slope has the rate of copies times the intensity, a level one rate.
ImVec2 roof_end(const PlotArea& area, const Roofline& roofline, double intensity, double rate) {
    return area.at(roofline.intensities.place(intensity), roofline.rates.place(rate));
}

void draw_slope(const PlotArea& area, const Roofline& roofline, const RooflineRoof& slope, const Palette& colours) {
    const ImVec2 from = roof_end(area, roofline, slope.from, slope.from * slope.rate);
    const ImVec2 to = roof_end(area, roofline, slope.to, slope.to * slope.rate);
    ImDrawList* const list = ImGui::GetWindowDrawList();
    const ImU32 colour = ImGui::GetColorU32(colours.text);
    if (!slope.is_soft) {
        list->AddLine(from, to, colour, 1.5f);
        return;
    }
    constexpr float kDash = 7, kPeriod = 12;
    const float x = to.x - from.x, y = to.y - from.y, length = std::hypot(x, y);
    for (float at = 0; at < length; at += kPeriod) {
        const float one = at / length, other = std::min(at + kDash, length) / length;
        list->AddLine({from.x + one * x, from.y + one * y}, {from.x + other * x, from.y + other * y}, colour, 1.5f);
    }
}

/// Labels stand above the right ends of the lines; those of close lines side by side above the highest one.
void draw_levels(const PlotArea& area, const Roofline& roofline, const Palette& colours) {
    std::vector<RooflineRoof> levels = roofline.levels;
    std::ranges::sort(levels, {}, &RooflineRoof::rate);
    const float line = ImGui::GetTextLineHeight();
    ImDrawList* const list = ImGui::GetWindowDrawList();
    std::string label;
    for (size_t i = 0; i < levels.size(); ++i) {
        const RooflineRoof& level = levels[i];
        const ImVec2 to = roof_end(area, roofline, level.to, level.rate);
        list->AddLine(roof_end(area, roofline, level.from, level.rate), to, ImGui::GetColorU32(colours.text), 1.5f);
        label += fmt::format("{}{} {}", label.empty() ? "" : "    ", level.title, scaled_text(level.rate, "FLOP/s"));
        const bool is_highest = i + 1 == levels.size();
        if (!is_highest && to.y - roof_end(area, roofline, level.to, levels[i + 1].rate).y < line) continue;
        const float width = ImGui::CalcTextSize(label.c_str()).x;
        list->AddText({area.end.x - 4 - width, to.y - line - 1}, ImGui::GetColorU32(colours.soft), label.c_str());
        label.clear();
    }
}

std::string point_text(const RooflinePoint& point) {
    const KeptCall& call = *point.call;
    return fmt::format("{} {}\n{} {}\n{}, {}, {:.3g} operations per byte", call.name, call.place(), call.dtype,
                       call.shapes, time_text(*call.median), scaled_text(point.rate, "FLOP/s"), point.intensity);
}

/// Larger dots took more of the time.
void draw_points(const PlotArea& area, const KeptProfileView& view, const Palette& colours) {
    const Roofline& roofline = *view.roofline();
    std::vector<const RooflinePoint*> shown;
    for (const RooflinePoint& point : roofline.points) {
        if (view.shows(*point.call)) shown.push_back(&point);
    }
    // Small dots are above large ones.
    std::ranges::stable_sort(shown, std::ranges::greater(), &RooflinePoint::share);
    Dots dots(area);
    const float scale = ImGui::GetFontSize() / 15;
    for (const RooflinePoint* point : shown) {
        const auto radius = std::min(11.0f, 3 + 30 * static_cast<float>(std::sqrt(point->share)));
        dots.draw(roof_end(area, roofline, point->intensity, point->rate), scale * radius,
                  faded_colour(colours.accent, 0.6f), colours.back);
    }
    if (dots.under_mouse() >= 0) tooltip(point_text(*shown[static_cast<size_t>(dots.under_mouse())]));
}

std::string roofs_note(const Roofline& roofline) {
    std::vector<std::string> slopes;
    for (const RooflineRoof& slope : roofline.slopes) {
        slopes.push_back(fmt::format("{} {}", slope.title, scaled_text(slope.rate, "B/s")));
    }
    return fmt::format(
        "{} of {} calls count operations; the others only move data. A larger dot took more of the time. Lines are the "
        "best rates that this run measured: {}.",
        roofline.points.size(), roofline.measured, fmt::join(slopes, ", "));
}

}  // namespace

void draw_roofline(GuiState& state) {
    const KeptProfileView& view = state.reports.profile()->view;
    const Roofline& roofline = *view.roofline();
    note_text(roofs_note(roofline), *state.colours);
    const PlotAxis x = power_axis("operations per byte that must move", roofline.intensities, 12,
                                  [](double power) { return fmt::format("{:g}", power); });
    const PlotAxis y = power_axis("operations per second", roofline.rates, 10,
                                  [](double power) { return scaled_text(power, "FLOP/s"); });
    const PlotArea area = draw_axes("roofline", ImGui::GetContentRegionAvail(), x, y, *state.colours);
    for (const RooflineRoof& slope : roofline.slopes) draw_slope(area, roofline, slope, *state.colours);
    draw_levels(area, roofline, *state.colours);
    draw_points(area, view, *state.colours);
}

}  // namespace diopi
