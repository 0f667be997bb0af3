/// Parts of plots: axes with a grid, and dots with tooltips.
#pragma once

#include <imgui.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gui/log_axis.hpp"
#include "theme.hpp"

namespace diopi {

struct PlotAxis {
    std::string title;
    std::vector<std::pair<double, std::string>> marks;  ///< places from 0 to 1, and their labels
};

/// Marks at powers of ten.
[[nodiscard]] PlotAxis power_axis(std::string title, const LogAxis& axis, size_t most,
                                  const std::function<std::string(double power)>& label_of);

/// The area of a plot without its labels.
struct PlotArea {
    ImVec2 start, end;  ///< upper left and lower right corners
    bool is_hovered = false;

    /// From places on the axes, 0 to 1; y is 0 at the bottom.
    [[nodiscard]] ImVec2 at(double x, double y) const;
    [[nodiscard]] float width() const { return end.x - start.x; }
};

/// Takes that size for a plot and draws its axes. The title of y is above the area, that of x below.
[[nodiscard]] PlotArea draw_axes(const char* id, const ImVec2& size, const PlotAxis& x, const PlotAxis& y,
                                 const Palette& colours);

/// Draws dots and finds the one under the mouse.
class Dots {
 public:
    explicit Dots(const PlotArea& area) : area_(area) {}
    /// A dot with an outline in the colour of the background.
    void draw(const ImVec2& centre, float radius, const ImVec4& colour, const ImVec4& outline);
    /// The number of the last drawn dot under the mouse; -1: none.
    [[nodiscard]] int under_mouse() const { return found_; }

 private:
    const PlotArea& area_;
    int count_ = 0, found_ = -1;
};

/// That share of a colour over another one: unlike faded_colour() the same where shapes overlap.
[[nodiscard]] ImVec4 mixed_colour(const ImVec4& colour, const ImVec4& other, float share);

/// A colour with less than its full strength.
[[nodiscard]] inline ImVec4 faded_colour(ImVec4 colour, float alpha) {
    colour.w = alpha;
    return colour;
}

}  // namespace diopi
