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
    std::string device;  ///< its name, for people; may be empty
    AdaptorRules rules;
};

/// The presets that stand for a file.
[[nodiscard]] std::vector<std::string> adaptor_presets();

/// A key, an operator, an argument, a dtype or a layout that is unknown is bad input, named by file, line and JSON
/// pointer.
[[nodiscard]] Result<AdaptorConfig> adaptor_config_from(std::string_view text, const std::string& file);
/// A preset's name, or the path of a file.
[[nodiscard]] Result<AdaptorConfig> read_adaptor_config(const std::string& name_or_path);

}  // namespace diopi
