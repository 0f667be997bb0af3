/// The content of the tracks of a trace: the samples of a profile, and the phases and layers around them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "profile_data/profile_record.hpp"

namespace diopi {

/// A span of time in whole nanoseconds, so that neighbours never overlap by rounding.
struct TimeSpan {
    TimeSpan(double start, double seconds);
    int64_t begin = 0, end = 0;
};

/// A slice of the host's track.
struct TraceSlice {
    enum class Kind { kCall, kPhase, kLayer };
    Kind kind = Kind::kCall;
    TimeSpan span;
    int depth = 0;  ///< number of slices around it
    /// For a call: its position in the profile, and the number of its run.
    size_t call = 0, run = 0;
    std::string name{};  ///< for a phase or a layer: "backward", "layer1.0.conv1"
    int64_t pass = 0;
};

/// All slices by their beginnings, enclosing ones first. Calls inside an enclosing row (the step of a capture) have
/// slices for their phase and layers around them, which last as long as the next call is in them.
[[nodiscard]] std::vector<TraceSlice> trace_slices(const Profile& profile);

/// Pairs of positions in trace_slices: a call of the forward pass and the first call, in the same pass of the profile,
/// of its backward pass; they have one forward id.
[[nodiscard]] std::vector<std::pair<size_t, size_t>> backward_flows(const Profile& profile,
                                                                    const std::vector<TraceSlice>& slices);

}  // namespace diopi
