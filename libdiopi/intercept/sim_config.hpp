/// The JSON file that describes a simulated device; docs/fallback.md documents it.
#pragma once

#include <string>
#include <string_view>

#include "core/status.hpp"
#include "intercept/sim_backend.hpp"

namespace diopi {

/// An unknown key, or a value of the wrong kind or out of range, is bad input, named by file, line and JSON pointer.
[[nodiscard]] Result<SimOptions> sim_config_from(std::string_view text, const std::string& file);
[[nodiscard]] Result<SimOptions> read_sim_config(const std::string& path);

}  // namespace diopi
