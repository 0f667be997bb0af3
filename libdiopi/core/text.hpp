/// Letters and blanks of names and expressions.
#pragma once

#include <string>
#include <string_view>

namespace diopi {

/// A letter from A to Z as its small one; other characters are unchanged, in every locale.
[[nodiscard]] constexpr char lower_case(char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

[[nodiscard]] std::string lower_case(std::string_view text);

/// The text without blanks and line ends around it.
[[nodiscard]] std::string_view trimmed(std::string_view text);

}  // namespace diopi
