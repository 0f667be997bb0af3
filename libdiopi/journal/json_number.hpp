/// Floating numbers in records: JSON has no NaN and no infinities, so they are "nan", "inf" and "-inf" there.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace diopi {

[[nodiscard]] nlohmann::ordered_json json_number(double x);
/// Throws nlohmann's exception for what is neither a number nor a text.
[[nodiscard]] double number_of(const nlohmann::ordered_json& json);

}  // namespace diopi
