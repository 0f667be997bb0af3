/// diopi report --gui.
#pragma once

#include <string>

#include "options.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace diopi {

struct GuiOptions {
    bool is_wanted = false;
    std::string bundle;
    std::string tab;  ///< empty: the first one
    std::string theme = "light";
    std::string screenshot;
};

void add_gui_options(CLI::App& command, GuiOptions& options);

/// Shows the window of a run's folder, with the operators as the first filter; returns the exit code.
int show_gui(const GuiOptions& options, const CommonOptions& common);

}  // namespace diopi
