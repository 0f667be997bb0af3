/// Strict reading of JSON that others wrote. Every step returns false after it has stated the first error as "where:
/// JSON pointer: what is wrong, what to try".
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.hpp"
#include "core/tensor.hpp"

namespace diopi {

/// Longest text and list that a reader takes.
inline constexpr size_t kMostJsonText = size_t{256} << 20;
inline constexpr size_t kMostJsonItems = size_t{1} << 20;

class JsonReader {
 public:
    using Json = nlohmann::json;

    /// `where` begins each message.
    explicit JsonReader(std::string where) : where_(std::move(where)) {}

    [[nodiscard]] const Error& error() const { return error_; }
    bool fail(const std::string& at, const std::string& message);

    /// Refuses what is no JSON, too long or too deep, and keys that occur twice in one object.
    bool parse(std::string_view text, Json& json);
    /// Keys of the object that the whole text has as member `member`, in the text's order.
    [[nodiscard]] const std::vector<std::string>& keys_of(std::string_view member) const;

    /// An object with all of the wanted members, and no other than these and the optional ones.
    bool members(const Json& json, const std::string& at, std::initializer_list<const char*> wanted,
                 std::initializer_list<const char*> optional = {});

    bool read(const Json& json, const std::string& at, std::string& text);
    bool read(const Json& json, const std::string& at, bool& value);
    bool read(const Json& json, const std::string& at, int64_t& value);
    bool read(const Json& json, const std::string& at, uint64_t& value);
    /// A number, "nan", "inf" or "-inf".
    bool read(const Json& json, const std::string& at, double& value);
    bool read(const Json& json, const std::string& at, Dtype& dtype);
    bool read(const Json& json, const std::string& at, std::vector<int64_t>& list);
    /// The members dtype, shape and strides of an object: a tensor that can be, whose bytes can be counted. No strides
    /// for a shape with dims only where that is allowed.
    bool read_spec(const Json& json, const std::string& at, bool may_lack_strides, TensorSpec& spec);
    /// The member `key`, which may be left out.
    template <class T>
    bool read_optional(const Json& json, const std::string& at, const char* key, T& value) {
        const Json* member = find(json, key);
        return member == nullptr || read(*member, at + "/" + key, value);
    }
    /// The member of an object, null when it is left out.
    [[nodiscard]] static const Json* find(const Json& json, const char* key);

 private:
    std::string where_;
    Error error_;
    std::vector<std::pair<std::string, std::vector<std::string>>> keys_;
};

/// did_you_mean for a word that a stranger wrote; empty where finding one would take long.
[[nodiscard]] std::string hint(const std::string& word, std::span<const std::string> known);
/// A stranger's word as a message may print it.
[[nodiscard]] std::string clipped(const std::string& word);
/// Whether it can name a dataset and stand in a JSON pointer: 1 to 200 bytes without '/', '~' or control characters,
/// not "." or "..".
[[nodiscard]] bool is_id(std::string_view word);

/// Elements that such a view spans, as storage_extent, of strides that are not negative; nullopt where its bytes go
/// beyond int64.
[[nodiscard]] std::optional<int64_t> checked_extent(const TensorSpec& spec);

}  // namespace diopi
