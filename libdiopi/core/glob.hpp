/// Patterns with wildcards, for names that a user lists.
#pragma once

#include <string_view>

namespace diopi {

/// Whether the whole of `text` is what `pattern` says: `*` stands for any characters, `?` for one. In time
/// O(pattern * text), whatever they are.
[[nodiscard]] bool matches_glob(std::string_view pattern, std::string_view text);

}  // namespace diopi
