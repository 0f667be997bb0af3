/// Colours and fonts of the window: the colours of the page (libdiopi/report/page/style.css).
#pragma once

#include <imgui.h>

#include <cstddef>

namespace diopi {

struct Palette {
    ImVec4 back, panel, text, soft, line, accent;
    ImVec4 passed, failed, advice, skipped, missing;
    ImVec4 passed_back, failed_back, missing_back, skipped_back;
};

/// Null stands for ImGui's own small font, where DejaVu is not installed.
struct Fonts {
    ImFont* text = nullptr;
    ImFont* title = nullptr;
    ImFont* mono = nullptr;
};

[[nodiscard]] const Palette& palette(bool is_dark);

/// The colour of a bin of UlpHistogram, from small errors to those that are not finite.
[[nodiscard]] ImVec4 ulp_colour(size_t bin);

/// Sets ImGui's style.
void apply_theme(bool is_dark, float scale);

/// `scale`: 2 on a display with twice the usual number of points.
[[nodiscard]] Fonts load_fonts(float scale);

}  // namespace diopi
