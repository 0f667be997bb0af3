/// The state that the tabs of the window share.
#pragma once

#include <imgui.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui.hpp"
#include "gui/kept_views.hpp"
#include "gui/run_view.hpp"
#include "heat_view.hpp"
#include "theme.hpp"

namespace diopi {

/// A cell of the support matrix that is open.
struct OpenCell {
    SharedSupport row;
    Aspect aspect = Aspect::kForward;
};

/// The part of a timeline that is shown, as shares of its time.
struct TimelineZoom {
    double from = 0, to = 1;
};

struct GuiState {
    RunView view;
    KeptViews reports;
    std::string place;     ///< the run, as the user named it
    std::string run;       ///< path of the journal
    bool has_run = false;  ///< something of it has been read
    std::string progress;  ///< "running: 120 of 400 cases"
    float progress_share = 0;
    bool is_active = false;  ///< another process is writing to the journal
    const Palette* colours = nullptr;
    Fonts fonts;

    std::optional<Tab> wanted_tab;   ///< to be selected when it is there
    Tab shown_tab = Tab::kOverview;  ///< the outer tab that is open
    std::string failure;             ///< case id and step of the failure that is open
    std::optional<OpenCell> cell;
    std::string function;  ///< whose accuracy is plotted; empty: of all
    HeatView heat;
    std::string difference;  ///< place and tensor of the difference that is open
    TimelineZoom zoom;
};

void draw_overview(GuiState& state);
void draw_failures(GuiState& state);
void draw_support(GuiState& state);
void draw_accuracy(GuiState& state);
void draw_times(GuiState& state);
void draw_tensors(GuiState& state);

void draw_roofline(GuiState& state);
void draw_ratios(GuiState& state);
void draw_timeline(GuiState& state);
void draw_operator_times(GuiState& state);
void draw_profiled_calls(GuiState& state);
void draw_differences(GuiState& state);
void draw_course(GuiState& state);
void draw_ulp(GuiState& state);
void draw_compared_operators(GuiState& state);

/// These draw the command and the figures of a kept report, above its views.
void draw_profile_head(GuiState& state);
void draw_compare_head(GuiState& state);
/// Whole tabs.
void draw_fallback(GuiState& state);
void draw_bisection(GuiState& state);

}  // namespace diopi
