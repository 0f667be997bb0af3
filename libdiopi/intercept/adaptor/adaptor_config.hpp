/// The JSON file with the requirements of a device for its tensors; docs/adaptor.md documents it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/status.hpp"
#include "intercept/adaptor/adaptor_rules.hpp"

namespace diopi {

/// The rules of a file, or of a preset.
struct AdaptorConfig {
    std::string device;  ///< its name for users; may be empty
    AdaptorRules rules;
};

/// The presets that replace a file.
[[nodiscard]] std::vector<std::string> adaptor_presets();

/// An unknown key, operator, argument, dtype or layout is bad input, named by file, line and JSON pointer.
[[nodiscard]] Result<AdaptorConfig> adaptor_config_from(std::string_view text, const std::string& file);
/// Takes a preset's name, or the path of a file.
[[nodiscard]] Result<AdaptorConfig> read_adaptor_config(const std::string& name_or_path);

}  // namespace diopi
