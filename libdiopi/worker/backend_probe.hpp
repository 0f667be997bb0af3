/// Tests whether the device of a linked backend is available.
#pragma once

#include "backend/backend.hpp"

namespace diopi {

/// Runs the backend's probe in a worker, because a process that has started a device cannot pass it on to its children.
/// A device that cannot be used, crashes or gives no answer for `timeout_s` is bad input.
[[nodiscard]] Status probe_backend(const Backend& backend, double timeout_s);

}  // namespace diopi
