/// Recipes of captured values as JSON; docs/capture.md describes them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "capture/capture.hpp"
#include "json/json_reader.hpp"

namespace diopi {

[[nodiscard]] nlohmann::ordered_json recipe_to_json(const Recipe& recipe);

/// Refuses a recipe that gives no values, or values that its dtype cannot hold.
bool read_recipe(JsonReader& reader, const JsonNode& node, Recipe& recipe);

/// A number as JSON, "nan", "inf" or "-inf".
[[nodiscard]] nlohmann::ordered_json number_to_json(double x);

}  // namespace diopi
