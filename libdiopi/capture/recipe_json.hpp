/// Recipes of captured values as JSON; docs/capture.md describes them.
#pragma once

#include <string>

#include "capture/capture.hpp"
#include "json/json_reader.hpp"
#include "json/json_text.hpp"

namespace diopi {

[[nodiscard]] Json recipe_to_json(const Recipe& recipe);

/// Refuses a recipe that gives no values, or values that its dtype cannot hold.
bool read_recipe(JsonReader& reader, const JsonNode& node, Recipe& recipe);

}  // namespace diopi
