/// JSON values that know the line they stand on, so that a message about one can say where it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.hpp"

namespace diopi {

/// One JSON value. Members of an object keep the order of the file.
struct JsonNode {
    enum class Kind : uint8_t {
        kNull,
        kBool,
        kInteger,
        kUnsigned,  ///< an integer from 2^63 to 2^64 - 1
        kReal,
        kText,
        kList,
        kObject
    };
    Kind kind = Kind::kNull;
    bool boolean = false;
    int32_t line = 0;     ///< line where the value begins, from 1
    int64_t integer = 0;  ///< the value; the bits of a kUnsigned
    double real = 0;      ///< also set for an integer
    std::string text;
    std::vector<JsonNode> items;    ///< the items of a list or an object
    std::vector<std::string> keys;  ///< the keys of an object, one per item

    [[nodiscard]] bool is(Kind wanted) const { return kind == wanted; }
    [[nodiscard]] bool is_number() const {
        return kind == Kind::kInteger || kind == Kind::kUnsigned || kind == Kind::kReal;
    }
    /// The member of an object, null when it has none of that key.
    [[nodiscard]] const JsonNode* find(std::string_view key) const;
};

/// The limits of a text: its bytes, the items of one list or object, and all its values.
inline constexpr size_t kMostJsonText = size_t{256} << 20;
inline constexpr size_t kMostJsonItems = size_t{1} << 20;
inline constexpr size_t kMostJsonValues = size_t{8} << 20;
/// A longer word is shortened in messages, cannot be a name, and gets no suggestions.
inline constexpr size_t kMostJsonName = 200;

/// Parses a whole document. It refuses, with file, line and column: malformed text, a key that occurs twice in one
/// object, integers beyond 64 bits, nesting over 64 levels, more than the limits above.
[[nodiscard]] Result<JsonNode> parse_json(std::string_view text, std::string_view file);

/// The JSON pointer of a value inside `root`: "/groups/0/tensors/1/shapes"; "" for the root itself.
[[nodiscard]] std::string pointer_of(const JsonNode& root, const JsonNode& value);

/// A word of an untrusted file for a message, shortened if it is long.
[[nodiscard]] std::string clipped(const std::string& word);

/// "a number", "a list", ...: what a value is, for messages.
[[nodiscard]] const char* describe(const JsonNode& value);

}  // namespace diopi
