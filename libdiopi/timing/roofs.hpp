/// The best rates of the device, measured through the backend's own functions; docs/profile.md, "Roofs".
#pragma once

#include <span>

#include "backend/backend.hpp"
#include "core/status.hpp"
#include "profile_data/profile_figures.hpp"

namespace diopi {

/// Copies of several sizes by the device itself or by the fastest of the backend's functions that do little else,
/// matrix products in each of `dtypes` that it can multiply, a call on one element. Functions that the backend lacks
/// are not measured. A few seconds.
[[nodiscard]] Result<Roofs> measure_roofs(const Backend& backend, std::span<const Dtype> dtypes);

/// The time of a call on one element alone.
[[nodiscard]] Result<Roofs> measure_empty_call(const Backend& backend);

/// Size in bytes of the last-level cache of the device, or of the host if the device does not report it; 32 MiB
/// if neither does.
[[nodiscard]] int64_t last_level_cache(Device& device);

/// Seconds of a fixed piece of arithmetic on the host: a measure of the machine's current speed.
[[nodiscard]] double machine_pace();

}  // namespace diopi
