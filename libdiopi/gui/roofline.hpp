/// The roofline of a profile: operations per second by operations per byte, under the machine's measured rates.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gui/log_axis.hpp"
#include "report/kept_records.hpp"

namespace diopi {

struct RooflinePoint {
    const KeptCall* call = nullptr;
    double intensity = 0, rate = 0;  ///< operations per byte that must move, operations per second
    double share = 0;                ///< of the time of all calls
};

/// A slope has `rate` bytes per second, a level `rate` operations per second.
struct RooflineRoof {
    std::string title;  ///< "copies in memory", "float32"
    double rate = 0;
    double from = 0, to = 0;  ///< on the axis of intensities
    bool is_soft = false;     ///< copies in the cache, beside those in memory
};

struct Roofline {
    LogAxis intensities, rates;
    std::vector<RooflineRoof> slopes, levels;
    std::vector<RooflinePoint> points;
    size_t measured = 0;  ///< calls, with those that only move data
};

/// Nothing without roofs or without a call that counts operations. The points refer to the calls of `profile`.
[[nodiscard]] std::optional<Roofline> roofline_of(const KeptProfile& profile);

}  // namespace diopi
