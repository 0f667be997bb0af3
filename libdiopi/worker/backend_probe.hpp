/// Whether the device of a linked backend is there.
#pragma once

#include "backend/backend.hpp"

namespace diopi {

/// Asks the backend's probe in a worker, for a process that has started a device cannot hand it on to its children. A
/// device that cannot be used, crashes or is silent for `timeout_s` is bad input.
[[nodiscard]] Status probe_backend(const Backend& backend, double timeout_s);

}  // namespace diopi
