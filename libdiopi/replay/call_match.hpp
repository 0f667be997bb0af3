/// Pairs the calls of two captures of one iteration.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "capture/capture.hpp"

namespace diopi {

/// A call of both captures, or of only one; positions in Capture::calls.
struct CallPair {
    std::optional<size_t> one, other;
    /// Both captures have the call, at different places among the calls that correspond in order.
    bool out_of_order = false;
    bool operator==(const CallPair&) const = default;
};

/// In the order of the first capture; calls that only the second has stand at their places between the others. Two
/// calls may be paired if they have the same overload or function, and the same phase. Then layer, shapes and dtypes
/// decide, in this order; a layer whose name is the end of the other's is almost equal. Calls whose shapes and layers
/// both differ are not paired. Equal calls of one layer that remain unpaired are out of order.
[[nodiscard]] std::vector<CallPair> match_calls(const Capture& one, const Capture& other);

}  // namespace diopi
