/// The window of diopi report --gui: a library of its own, which the program opens, so that nothing else of it needs
/// OpenGL. It uses the program's own functions.
#pragma once

#include <array>
#include <string>

#include "core/status.hpp"

namespace diopi {

/// Tabs of the window, in their order.
enum class Tab { kOverview, kFailures, kSupport, kAccuracy, kTime, kTensors };
inline constexpr std::array<const char*, 6> kTabNames = {"overview", "failures", "support",
                                                         "accuracy", "time",     "tensors"};

struct WindowOptions {
    std::string journal;  ///< path of the file that is followed
    std::string filter;   ///< the first text of the filter
    std::string bundle;   ///< a replay bundle to show; may be empty
    Tab tab = Tab::kOverview;
    bool is_dark = false;
    std::string screenshot;  ///< a PNG to write, after which the window closes; may be empty
};

}  // namespace diopi

/// Shows the window until it is closed. Bad input if there is no display or no OpenGL 3, or a file cannot be read.
extern "C" void diopi_open_window(const diopi::WindowOptions& options, diopi::Status& status);
