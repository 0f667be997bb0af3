/// An expression that selects cases, as pytest's -k: words with `and`, `or`, `not` and parentheses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cases/case.hpp"
#include "core/status.hpp"

namespace diopi {

class CaseExpression {
 public:
    /// Selects every case.
    CaseExpression() = default;
    /// `not` binds closer than `and`, and that closer than `or`. An error names the place.
    [[nodiscard]] static Result<CaseExpression> parse(std::string_view text);

    [[nodiscard]] bool empty() const { return nodes_.empty(); }
    /// A word holds if it occurs, in any case, in the id of the case, the name of one of its dtypes, or a level of a
    /// hard case.
    [[nodiscard]] bool matches(const Case& c) const;
    /// The same for any text, in small letters.
    [[nodiscard]] bool matches(const std::string& text) const;

 private:
    friend class CaseExpressionParser;
    enum class Kind : uint8_t { kWord, kNot, kAnd, kOr };
    struct Node {
        Kind kind = Kind::kWord;
        std::string word;            ///< in small letters
        size_t left = 0, right = 0;  ///< numbers of nodes; `not` has the left one
    };
    [[nodiscard]] bool holds(size_t node, const std::string& text) const;

    std::vector<Node> nodes_;  ///< the last one is the whole expression
};

}  // namespace diopi
