/// The beginning of the tabs of kept reports.
#pragma once

#include <string>

#include "gui/kept_views.hpp"
#include "gui_state.hpp"

namespace diopi {

/// The command of a report, with a button that copies it, its file and the machine.
void draw_about(const KeptViews::About& about, const GuiState& state);

}  // namespace diopi
