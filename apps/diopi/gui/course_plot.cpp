/// The tab with the error of each tensor of a capture, in the order of its calls.
#include <fmt/format.h>

#include <string>

#include "gui/figure_text.hpp"
#include "gui_state.hpp"
#include "plot.hpp"
#include "widgets.hpp"

namespace diopi {

namespace {

std::string angle_label(double angle) { return angle <= kAngles.low * 1.5 ? "equal" : fmt::format("{:g}", angle); }

std::string course_text(const CoursePoint& point) {
    const CompareRow& row = *point.row;
    return fmt::format("{}, {} {}\n{}\nlargest difference {}{}", row.where, row.name, row.layer, row.tensor,
                       figure_text(row.max_abs), row.allclose ? "" : "\ndiffers");
}

/// The ends of the axis are the first and the last call.
PlotAxis call_axis(const KeptCompareView& view) {
    const std::vector<const CompareRow*> course = course_of(view.comparison().rows);
    return {"tensors in the order of their calls", {{0, course.front()->where}, {1, course.back()->where}}};
}

}  // namespace

void draw_course(GuiState& state) {
    const KeptCompareView& view = state.reports.comparison()->view;
    const Palette& colours = *state.colours;
    note_text(
        "The angle between the tensors of both sides, from their cosine similarity. Equal tensors are at the bottom, "
        "those that differ are red.",
        colours);
    const PlotAxis y = power_axis("angle in radians", kAngles, 6, angle_label);
    const PlotArea area = draw_axes("course", ImGui::GetContentRegionAvail(), call_axis(view), y, colours);
    Dots dots(area);
    const float scale = ImGui::GetFontSize() / 15;
    for (const CoursePoint& point : view.course()) {
        const bool differs = !point.row->allclose;
        dots.draw(area.at(point.place, kAngles.place(point.angle)), scale * (differs ? 5.0f : 3.5f),
                  differs ? colours.failed : faded_colour(colours.accent, 0.6f), colours.back);
    }
    if (dots.under_mouse() >= 0) tooltip(course_text(view.course()[static_cast<size_t>(dots.under_mouse())]));
}

}  // namespace diopi
