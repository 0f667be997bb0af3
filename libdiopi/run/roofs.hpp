/// What the device gives at best, measured through the backend's own functions; docs/profile.md, "Roofs".
#pragma once

#include <span>

#include "backend/backend.hpp"
#include "core/status.hpp"
#include "store/profile_record.hpp"

namespace diopi {

/// Copies of several sizes by the fastest of the backend's element-wise functions, matrix products in each of `dtypes`
/// that it can multiply, a call on one element. What the backend cannot do stays unmeasured. About a second.
[[nodiscard]] Result<Roofs> measure_roofs(const Backend& backend, std::span<const Dtype> dtypes);

/// Of two measurements of one device, the better figure each.
[[nodiscard]] Roofs better(Roofs a, const Roofs& b);

/// Bytes per second at best for a call that moves so many: what copies of that size and larger ones reached. 0: not
/// measured.
[[nodiscard]] double copy_roof(const Roofs& roofs, double bytes);
/// Operations per second with this dtype; 0: not measured.
[[nodiscard]] double matmul_roof(const Roofs& roofs, Dtype dtype);

/// What one call must take at least: its bytes or its operations at their roof, whichever is longer. 0: no roof.
[[nodiscard]] double roof_seconds(const Roofs& roofs, const ProfiledCall& call);

/// A roof that a call beats by more than this share is no roof: the figure is INVALID.
inline constexpr double kMostOfRoof = 1.05;

/// Size of the host's last-level cache in bytes; 32 MiB where the system does not tell.
[[nodiscard]] int64_t last_level_cache();

/// Seconds of a fixed piece of arithmetic on the host: how fast the machine is at the moment.
[[nodiscard]] double machine_pace();

}  // namespace diopi
