#include "cases/case_expression.hpp"

#include <fmt/format.h>

#include <cctype>

#include "core/text.hpp"

namespace diopi {

namespace {

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

/// More levels of parentheses and `not` than anybody writes; each takes a frame of the stack.
constexpr int kMostLevels = 100;

}  // namespace

/// Reads an expression from left to right, a function per level of precedence.
class CaseExpressionParser {
 public:
    explicit CaseExpressionParser(std::string_view text) : text_(text) { next(); }

    Result<CaseExpression> parse() {
        if (Status s = read_or(); !s.ok()) return s.error();
        if (!token_.empty()) return unexpected("'and', 'or' or the end");
        return std::move(made_);
    }

 private:
    using Kind = CaseExpression::Kind;

    /// Moves to the next word or parenthesis; an empty token is the end.
    void next() {
        while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
        const size_t begin = at_;
        const auto is_bracket = [&] { return text_[at_] == '(' || text_[at_] == ')'; };
        if (at_ < text_.size() && is_bracket()) {
            ++at_;
        } else {
            while (at_ < text_.size() && !is_blank(text_[at_]) && !is_bracket()) ++at_;
        }
        place_ = begin;
        token_ = text_.substr(begin, at_ - begin);
    }

    [[nodiscard]] Error unexpected(std::string_view wanted) const {
        const std::string got = token_.empty() ? "the end" : fmt::format("'{}'", token_);
        return bad_input(fmt::format("'{}': expected {}, got {} at character {}", text_, wanted, got, place_ + 1));
    }

    Status read_or() { return read_list("or", Kind::kOr, &CaseExpressionParser::read_and); }
    Status read_and() { return read_list("and", Kind::kAnd, &CaseExpressionParser::read_not); }

    Status read_list(std::string_view joint, Kind kind, Status (CaseExpressionParser::*read_part)()) {
        if (Status s = (this->*read_part)(); !s.ok()) return s;
        while (token_ == joint) {
            const size_t left = made_.nodes_.size() - 1;
            next();
            if (Status s = (this->*read_part)(); !s.ok()) return s;
            made_.nodes_.push_back({kind, "", left, made_.nodes_.size() - 1});
        }
        return {};
    }

    Status read_not() {
        if (token_ == "not" || token_ == "(") {
            if (++level_ > kMostLevels) return bad_input("the expression has too many levels");
            Status s = token_ == "(" ? read_group() : read_negation();
            --level_;
            return s;
        }
        if (token_.empty() || token_ == ")" || token_ == "and" || token_ == "or") return unexpected("a word");
        made_.nodes_.push_back({Kind::kWord, lower_case(token_), 0, 0});
        next();
        return {};
    }

    Status read_negation() {
        next();
        if (Status s = read_not(); !s.ok()) return s;
        made_.nodes_.push_back({Kind::kNot, "", made_.nodes_.size() - 1, 0});
        return {};
    }

    Status read_group() {
        next();
        if (Status s = read_or(); !s.ok()) return s;
        if (token_ != ")") return unexpected("')'");
        next();
        return {};
    }

    std::string_view text_, token_;
    size_t at_ = 0, place_ = 0;
    int level_ = 0;
    CaseExpression made_;
};

Result<CaseExpression> CaseExpression::parse(std::string_view text) { return CaseExpressionParser(text).parse(); }

bool CaseExpression::holds(size_t node, const std::string& text) const {
    const Node& n = nodes_[node];
    switch (n.kind) {
        case Kind::kWord:
            return text.find(n.word) != std::string::npos;
        case Kind::kNot:
            return !holds(n.left, text);
        case Kind::kAnd:
            return holds(n.left, text) && holds(n.right, text);
        case Kind::kOr:
            return holds(n.left, text) || holds(n.right, text);
    }
    return false;
}

bool CaseExpression::matches(const std::string& text) const { return empty() || holds(nodes_.size() - 1, text); }

bool CaseExpression::matches(const Case& c) const {
    if (empty()) return true;
    std::string text = c.id();
    for (const Dtype dtype : all_dtypes()) {
        if (c.uses(dtype)) text += " " + std::string(name(dtype));
    }
    for (const auto& [factor, level] : c.choices) text += " " + level;
    return matches(lower_case(text));
}

}  // namespace diopi
