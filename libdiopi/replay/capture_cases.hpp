/// The calls of a capture as cases, which a test judges like those of the case files.
#pragma once

#include <vector>

#include "cases/case.hpp"
#include "replay/capture_replay.hpp"

namespace diopi {

/// One case for each call that differs from those before it in its function, the dtypes, shapes, strides or offsets of
/// its tensors, or its numbers; "resnet18/add.17" is made of call 17. The cpu backend runs the capture for their
/// inputs, on one thread, because the caller may fork workers later. A call that the standard has no function for is
/// none.
[[nodiscard]] Result<std::vector<Case>> capture_cases(const Capture& capture, CaptureReplay& replay);

}  // namespace diopi
