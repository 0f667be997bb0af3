/// Suggestions for unknown names that a user typed.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace diopi {

/// Edits that turn `a` into `b`: insertions, deletions, replacements, swaps of neighbours. Letter case does not count.
[[nodiscard]] size_t edit_distance(std::string_view a, std::string_view b);

/// The candidates that `name` may be a misspelling of, closest first, at most `limit`; empty when none is near.
[[nodiscard]] std::vector<std::string> nearest(std::string_view name, std::span<const std::string> candidates,
                                               size_t limit = 3);

/// " (did you mean 'add' or 'addmm'?)", or nothing: the end of a message about an unknown name.
[[nodiscard]] std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

}  // namespace diopi
