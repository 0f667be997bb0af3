/// The device's activities from CUPTI. Only for builds with CUDA.
#pragma once

#include <memory>

#include "runtime/activity.hpp"

namespace diopi {

/// If CUPTI is missing, the error says what to do.
[[nodiscard]] Result<std::unique_ptr<ActivityRecording>> record_cuda_activities();

}  // namespace diopi
