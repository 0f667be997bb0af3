/// The expected outputs of a call, as JSON text by argument name; docs/hdf5.md describes it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/status.hpp"
#include "infer/infer.hpp"

namespace diopi {

[[nodiscard]] std::string outputs_to_json(const Row& row, const std::vector<OutputSpec>& outputs);
/// Checks every member; `where` begins each message.
[[nodiscard]] Result<std::vector<OutputSpec>> outputs_from_json(std::string_view text, const std::string& where,
                                                                const Row& row);

}  // namespace diopi
