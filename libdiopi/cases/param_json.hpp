/// Parameters of cases as JSON.
#pragma once

#include "cases/case.hpp"
#include "json/json_reader.hpp"

namespace diopi {

/// Reads a number, a text, true, false, null or a list of these.
bool read_param(JsonReader& reader, const JsonNode& node, Param& param);

}  // namespace diopi
