/// Strict reading of JSON that others wrote: checks of keys and kinds, and messages that name the place.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.hpp"
#include "core/tensor.hpp"
#include "json/json_node.hpp"

namespace diopi {

/// Turns the tree of one text into structures of its user. Every step returns false after it has stated the first error
/// as "where:line: JSON pointer: what came, what was expected".
class JsonReader {
 public:
    /// `where` is the text's file, or its place in one. The tree must outlive the reader.
    JsonReader(std::string where, const JsonNode& root) : where_(std::move(where)), root_(root) {}

    [[nodiscard]] const std::string& where() const { return where_; }
    [[nodiscard]] const JsonNode& root() const { return root_; }
    [[nodiscard]] const Error& error() const { return error_; }

    bool fail(const JsonNode& at, const std::string& message);
    bool wrong_kind(const JsonNode& at, std::string_view expected);
    /// Refuses `word` as "unknown <what> '<word>'", with a suggestion, or else with all of `known`.
    bool unknown(const JsonNode& at, const char* what, const std::string& word, std::span<const std::string> known);

    /// Requires an object without other keys than these.
    bool check_keys(const JsonNode& object, std::span<const char* const> allowed);
    bool require(const JsonNode& object, const char* key);
    /// Requires an object with all of the required keys, and without others than these and the optional ones.
    bool members(const JsonNode& object, std::initializer_list<const char*> required,
                 std::initializer_list<const char*> optional = {});

    bool read(const JsonNode& node, std::string& text);
    bool read(const JsonNode& node, bool& value);
    bool read(const JsonNode& node, int64_t& value);
    bool read(const JsonNode& node, uint64_t& value);
    /// Reads a number, "nan", "inf" or "-inf".
    bool read(const JsonNode& node, double& value);
    bool read(const JsonNode& node, Dtype& dtype);
    bool read(const JsonNode& node, std::vector<int64_t>& list);
    /// Reads the member `key`, which may be missing.
    template <class T>
    bool read_optional(const JsonNode& object, std::string_view key, T& value) {
        const JsonNode* member = object.find(key);
        return member == nullptr || read(*member, value);
    }

    bool read_text(const JsonNode& node, const char* expected, std::string& text);
    /// Reads a finite number that JSON can hold.
    bool read_number(const JsonNode& node, double& value);
    /// Requires a list with at least one item.
    bool read_list(const JsonNode& node, const char* expected);
    bool read_dtypes(const JsonNode& node, std::vector<Dtype>& dtypes);
    bool read_shape(const JsonNode& node, const char* expected, Shape& shape);
    /// Reads the members dtype, shape and strides, which the object must have, of a tensor whose size in bytes fits in
    /// int64. Strides may be empty for a shape with dims only if `may_lack_strides`.
    bool read_spec(const JsonNode& object, bool may_lack_strides, TensorSpec& spec);

 private:
    std::string where_;
    const JsonNode& root_;
    Error error_;
};

/// The number that a text stands for where JSON has none: "nan", "inf", "-inf".
[[nodiscard]] std::optional<double> special_number(const std::string& text);

/// The words with commas between them.
[[nodiscard]] std::string join(std::span<const std::string> words);

/// did_you_mean for a word of an untrusted file; empty where the search would take long.
[[nodiscard]] std::string hint(const std::string& word, std::span<const std::string> known);
/// Whether the word can name a dataset and stand in a JSON pointer: 1 to 200 bytes without '/', '~' or control
/// characters, not "." or "..".
[[nodiscard]] bool is_id(std::string_view word);

/// The storage_extent of a view without negative strides; nullopt where its size in bytes exceeds int64.
[[nodiscard]] std::optional<int64_t> forward_extent(const TensorSpec& spec);

/// The text of a file; `what` names its kind in the message when it cannot be read ("case file").
[[nodiscard]] Result<std::string> read_json_text(const std::string& path, const char* what);

}  // namespace diopi
