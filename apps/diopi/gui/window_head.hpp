/// The line above the tabs.
#pragma once

#include <string>

#include "gui_state.hpp"

namespace diopi {

/// The texts of that line; they describe the open tab.
struct WindowHead {
    std::string subject;  ///< "cpu"
    std::string summary;  ///< "running: 120 of 400 cases", or that of a kept report
    std::string origin;   ///< the journal and its time; of a kept report the tab says it
    bool is_of_tests = true, is_active = false;
};
[[nodiscard]] WindowHead head_of(const GuiState& state);

/// Whether there is a run to show.
[[nodiscard]] bool has_content(const GuiState& state);

}  // namespace diopi
