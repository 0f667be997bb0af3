/// The origin of replay bundles: the library, the program, the machine.
#pragma once

#include "backend/backend.hpp"
#include "capture/bundle.hpp"
#include "core/status.hpp"

namespace diopi {

/// The origin of a run with this backend. The functions of a linked backend are
/// in the program's own file.
[[nodiscard]] Result<BundleOrigin> bundle_origin(const Backend& backend);

}  // namespace diopi
