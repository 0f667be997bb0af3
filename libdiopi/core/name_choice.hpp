/// A list of names as a user writes it: words, lists with commas between the names, and globs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.hpp"

namespace diopi {

/// Whether the text has a wildcard of matches_glob().
[[nodiscard]] bool is_glob(std::string_view text);

class NameChoice {
 public:
    /// No items, which stand for every name.
    NameChoice() = default;
    /// This name or glob alone.
    explicit NameChoice(std::string_view item) : items_{std::string(item)} {}
    /// The items of all words, each once and in their order. "all" is the glob "*". An empty item is bad input.
    [[nodiscard]] static Result<NameChoice> parse(std::span<const std::string> words);

    [[nodiscard]] bool empty() const { return items_.empty(); }
    [[nodiscard]] const std::vector<std::string>& items() const { return items_; }
    /// Whether an item is the name or a glob that matches it, or there are no items.
    [[nodiscard]] bool matches(std::string_view name) const;
    /// The first item that matches none of the names; null if each matches one.
    [[nodiscard]] const std::string* unmatched(std::span<const std::string> names) const;

 private:
    std::vector<std::string> items_;
};

}  // namespace diopi
