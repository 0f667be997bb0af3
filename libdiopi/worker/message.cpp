#include "worker/message.hpp"

#include <cstring>

namespace diopi {

namespace {

/// Each value is preceded by the letter of its type and a number: the value itself, a length or a count.
constexpr char kNumber = 'i', kText = 's', kTexts = 'l', kNumbers = 'n';
constexpr size_t kHead = 1 + sizeof(uint64_t);

}  // namespace

void MessageWriter::append(char type, uint64_t value) {
    bytes_ += type;
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void MessageWriter::put_number(int64_t number) { append(kNumber, static_cast<uint64_t>(number)); }

void MessageWriter::put(std::string_view text) {
    append(kText, text.size());
    bytes_ += text;
}

void MessageWriter::put(const std::vector<std::string>& texts) {
    append(kTexts, texts.size());
    for (const std::string& text : texts) put(text);
}

void MessageWriter::put(const std::vector<uint64_t>& numbers) {
    append(kNumbers, numbers.size());
    bytes_.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(uint64_t));
}

uint64_t MessageReader::take(char type) {
    is_valid_ = is_valid_ && rest_.size() >= kHead && rest_.front() == type;
    if (!is_valid_) return 0;
    uint64_t value = 0;
    std::memcpy(&value, rest_.data() + 1, sizeof value);
    rest_.remove_prefix(kHead);
    return value;
}

uint64_t MessageReader::take_count(char type, size_t bytes_each) {
    const uint64_t count = take(type);
    is_valid_ = is_valid_ && count <= rest_.size() / bytes_each;
    return is_valid_ ? count : 0;
}

int64_t MessageReader::get_number() { return static_cast<int64_t>(take(kNumber)); }

void MessageReader::get(std::string& text) {
    const uint64_t size = take_count(kText, 1);
    text = rest_.substr(0, size);
    rest_.remove_prefix(size);
}

void MessageReader::get(std::vector<std::string>& texts) {
    texts.resize(take_count(kTexts, kHead));
    for (std::string& text : texts) get(text);
}

void MessageReader::get(std::vector<uint64_t>& numbers) {
    numbers.resize(take_count(kNumbers, sizeof(uint64_t)));
    if (numbers.empty()) return;
    std::memcpy(numbers.data(), rest_.data(), numbers.size() * sizeof(uint64_t));
    rest_.remove_prefix(numbers.size() * sizeof(uint64_t));
}

}  // namespace diopi
