/// The timeline of a captured step: its calls one after the other, each as long as its median, under their layers.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/kept_records.hpp"

namespace diopi {

struct TimelineBox {
    std::string name;                ///< of the layer, with those around it, or of the call
    std::string phase;               ///< "forward", "backward", "optimizer" or empty
    size_t lane = 0;                 ///< 0: the outermost layers
    double from = 0, to = 0;         ///< seconds since the beginning
    const KeptCall* call = nullptr;  ///< null for a layer
};

struct Timeline {
    std::vector<TimelineBox> boxes;
    size_t lanes = 0;  ///< calls are in the last one
    double seconds = 0;
};

/// Nothing if no call has a layer. The boxes refer to the calls of `profile`. Layers deeper than six are left out.
[[nodiscard]] std::optional<Timeline> timeline_of(const KeptProfile& profile);

}  // namespace diopi
