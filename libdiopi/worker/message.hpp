/// A message between two processes of this program: values in an order that both know, each with its type.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace diopi {

/// Appends values to a message. Use pack_message().
class MessageWriter {
 public:
    void put(std::string_view text);
    void put(const std::vector<std::string>& texts);
    void put(const std::vector<uint64_t>& numbers);
    template <class Number>
    requires std::integral<Number> || std::is_enum_v<Number>
    void put(Number number) { put_number(static_cast<int64_t>(number)); }

    [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
    void put_number(int64_t number);
    void append(char type, uint64_t value);

    std::string bytes_;
};

/// Reads values from a message in the order in which they were written. Use unpack_message().
class MessageReader {
 public:
    explicit MessageReader(std::string_view bytes) : rest_(bytes) {}

    void get(std::string& text);
    void get(std::vector<std::string>& texts);
    void get(std::vector<uint64_t>& numbers);
    template <class Number>
    requires std::integral<Number> || std::is_enum_v<Number>
    void get(Number& number) { number = static_cast<Number>(get_number()); }

    /// Whether each value was there with the requested type, and none is left.
    [[nodiscard]] bool is_complete() const { return is_valid_ && rest_.empty(); }

 private:
    [[nodiscard]] int64_t get_number();
    /// The number after the letter of a type; 0 if another type or nothing follows.
    [[nodiscard]] uint64_t take(char type);
    /// The same for a count of elements of at least this many bytes each: no more than the message can hold.
    [[nodiscard]] uint64_t take_count(char type, size_t bytes_each);

    std::string_view rest_;
    bool is_valid_ = true;
};

template <class... Values>
[[nodiscard]] std::string pack_message(const Values&... values) {
    MessageWriter writer;
    (writer.put(values), ...);
    return writer.take();
}

/// False if the message does not contain exactly these; then the values are undefined.
template <class... Values>
[[nodiscard]] bool unpack_message(std::string_view bytes, Values&... values) {
    MessageReader reader(bytes);
    (reader.get(values), ...);
    return reader.is_complete();
}

}  // namespace diopi
