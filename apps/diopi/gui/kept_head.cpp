#include "kept_head.hpp"

#include <fmt/format.h>

#include "widgets.hpp"

namespace diopi {

void draw_about(const KeptViews::About& about, const GuiState& state) {
    command_line(about.command, state.fonts.mono);
    ImGui::PushStyleColor(ImGuiCol_Text, state.colours->soft);
    cell_text(fmt::format("{}, written {}, {}", about.path, about.written, about.environment));
    ImGui::PopStyleColor();
}

}  // namespace diopi
