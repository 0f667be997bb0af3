/// What the readers of our JSON files share: checks of keys and kinds, and messages that say where.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cases/case.hpp"
#include "cases/json_position.hpp"
#include "core/dtype.hpp"
#include "core/shape.hpp"
#include "core/status.hpp"

namespace diopi {

/// Base of a reader that turns the tree of one file into its own structures. Every step returns false after it has
/// stated the first error, as "file:line: JSON pointer: what came and what was wanted".
class JsonReader {
 public:
    /// Keeps references to both.
    JsonReader(const std::string& file, const JsonNode& root) : file_(file), root_(root) {}
    [[nodiscard]] const Error& error() const { return error_; }

 protected:
    [[nodiscard]] const std::string& file() const { return file_; }
    [[nodiscard]] const JsonNode& root() const { return root_; }

    bool fail(const JsonNode& at, const std::string& message);
    bool wrong_kind(const JsonNode& at, const char* wanted);
    /// Refuses `word` as "unknown <what> '<word>'", with what it may be a slip of, or else all of `known`.
    bool unknown(const JsonNode& at, const char* what, const std::string& word, std::span<const std::string> known);

    /// An object that has no key but these.
    bool check_keys(const JsonNode& object, std::span<const char* const> allowed);
    bool require(const JsonNode& object, const char* key);

    bool read_text(const JsonNode& node, const char* wanted, std::string& text);
    bool read_bool(const JsonNode& node, bool& value);
    bool read_number(const JsonNode& node, double& value);
    /// A list with at least one item.
    bool read_list(const JsonNode& node, const char* wanted);
    bool read_dtypes(const JsonNode& node, std::vector<Dtype>& dtypes);
    bool read_shape(const JsonNode& node, const char* wanted, Shape& shape);
    bool read_param(const JsonNode& node, Param& param);

 private:
    const std::string& file_;
    const JsonNode& root_;
    Error error_;
};

/// The number that a text stands for where JSON has none: "nan", "inf", "-inf".
[[nodiscard]] std::optional<double> special_number(const std::string& text);

/// The words with commas between them.
[[nodiscard]] std::string join(std::span<const std::string> words);

/// The text of a file; `what` names its kind in the message when it cannot be read ("case file").
[[nodiscard]] Result<std::string> read_json_text(const std::string& path, const char* what);

}  // namespace diopi
