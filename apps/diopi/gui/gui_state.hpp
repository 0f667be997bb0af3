/// The state that the tabs of the window share.
#pragma once

#include <imgui.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui.hpp"
#include "gui/run_view.hpp"
#include "heat_view.hpp"
#include "theme.hpp"

namespace diopi {

/// A cell of the support matrix that is open.
struct OpenCell {
    SharedSupport row;
    Aspect aspect = Aspect::kForward;
};

struct GuiState {
    RunView view;
    std::string run;       ///< path of the journal
    bool has_run = false;  ///< something of it has been read
    std::string progress;  ///< "running: 120 of 400 cases"
    float progress_share = 0;
    bool is_active = false;  ///< another process is writing to the journal
    const Palette* colours = nullptr;
    Fonts fonts;

    std::optional<Tab> wanted_tab;  ///< to be selected in the next frame
    std::string failure;            ///< case id and step of the failure that is open
    std::optional<OpenCell> cell;
    std::string function;  ///< whose accuracy is plotted; empty: of all
    HeatView heat;
};

void draw_overview(GuiState& state);
void draw_failures(GuiState& state);
void draw_support(GuiState& state);
void draw_accuracy(GuiState& state);
void draw_times(GuiState& state);
void draw_tensors(GuiState& state);

}  // namespace diopi
