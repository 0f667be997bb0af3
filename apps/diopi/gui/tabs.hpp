/// The tabs of the window: those of the run's tests, and those of its kept reports.
#pragma once

#include <string>

#include "gui_state.hpp"

namespace diopi {

/// Draws the tabs for which the run has something, and notes the outer one that is open in `state.shown_tab`.
void draw_tabs(GuiState& state);

/// Why the run has nothing for a tab, and what makes it; empty if the tab is there.
[[nodiscard]] std::string missing_tab(const GuiState& state, Tab tab);

}  // namespace diopi
