/// JSON as the program itself writes it, and reads it back: records, reports, what processes tell each other.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace diopi {

/// The members of an object keep the order in which they were added.
using Json = nlohmann::ordered_json;

/// The text on one line, without spaces. Bytes that are not UTF-8 are replaced by U+FFFD, here and in indented().
[[nodiscard]] std::string one_line(const Json& json);
/// The text with one value per line, each level indented by two spaces.
[[nodiscard]] std::string indented(const Json& json);
/// Parses the text of one of these. Throws nlohmann::json::exception for any other text.
[[nodiscard]] Json parse_own(std::string_view text);

/// A floating number. JSON has no NaN and no infinities, so they are "nan", "inf" and "-inf" there.
[[nodiscard]] Json json_number(double x);
/// Throws nlohmann::json::exception for what is neither a number nor a text.
[[nodiscard]] double number_of(const Json& json);

}  // namespace diopi
