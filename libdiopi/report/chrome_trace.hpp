/// A profile as Chrome trace events: JSON that chrome://tracing and ui.perfetto.dev open.
#pragma once

#include <string>

#include "core/status.hpp"
#include "profile_data/profile_record.hpp"

namespace diopi {

/// One complete event (`"ph": "X"`, microseconds) per sample, in the order of their times: on the host's track, and on
/// the device's if it has its own clock, with a flow from the launch to the work. On the host's track of a step's calls
/// each phase and each layer is a slice around its uninterrupted calls, and a flow leads from a call to the first one
/// of its backward pass. The file gets its name only when it is complete.
Status write_chrome_trace(const std::string& path, const Profile& profile);

}  // namespace diopi
