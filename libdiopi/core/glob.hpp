/// Patterns with wildcards, for names that a user lists.
#pragma once

#include <string_view>

namespace diopi {

/// Whether `pattern` matches the whole `text`: `*` stands for any characters, `?` for one. It takes O(pattern * text)
/// time.
[[nodiscard]] bool matches_glob(std::string_view pattern, std::string_view text);

/// Whether `pattern` may match a text that begins with `start`: it does not differ before its first wildcard.
[[nodiscard]] bool may_match_glob(std::string_view pattern, std::string_view start);

}  // namespace diopi
