/// The window of diopi report --gui: a library of its own, which the program opens, so that nothing else of it needs
/// OpenGL. It uses the program's own functions.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "core/status.hpp"

namespace diopi {

/// Tabs of the window, in their order. kProfile and kCompare have tabs inside.
enum class Tab {
    kOverview,
    kFailures,
    kSupport,
    kAccuracy,
    kTime,
    kTensors,
    kProfile,
    kRoofline,
    kRatios,
    kTimeline,
    kOperators,
    kCalls,
    kCompare,
    kDifferences,
    kCourse,
    kUlp,
    kComparedOperators,
    kFallback,
    kBisect
};
/// The name of each tab for --gui-tab; the index is the value of the Tab.
inline constexpr std::array<const char*, 19> kTabNames = {"overview",
                                                          "failures",
                                                          "support",
                                                          "accuracy",
                                                          "time",
                                                          "tensors",
                                                          "profile",
                                                          "profile-roofline",
                                                          "profile-ratios",
                                                          "profile-timeline",
                                                          "profile-operators",
                                                          "profile-calls",
                                                          "compare",
                                                          "compare-differences",
                                                          "compare-course",
                                                          "compare-ulp",
                                                          "compare-operators",
                                                          "fallback",
                                                          "bisect"};

struct WindowOptions {
    std::string place;       ///< what the user named: a run's folder, a journal or a kept report
    std::string journal;     ///< path of the journal that is followed; empty for a kept report
    std::string reports;     ///< the folder of the kept reports that are followed, or one of them; empty for a journal
    std::string filter;      ///< the first text of the filter
    std::string bundle;      ///< a replay bundle to show; may be empty
    std::optional<Tab> tab;  ///< the tab that is open first; nothing: the first one
    bool is_dark = false;
    std::string screenshot;  ///< a PNG to write, after which the window closes; may be empty
};

}  // namespace diopi

/// Shows the window until it is closed. Bad input if there is no display or no OpenGL 3, or a file cannot be read;
/// for a screenshot also if the run has nothing for the tab.
extern "C" void diopi_open_window(const diopi::WindowOptions& options, diopi::Status& status);
