#include "json/json_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace diopi {

namespace {

constexpr size_t kMaxDepth = 64;
/// Up to this many keys of an object are compared one by one; more are kept in a set.
constexpr size_t kFewKeys = 16;
constexpr size_t kMostPrinted = 60;

/// The position of the parser. nlohmann's lexer reads one character beyond a number, never beyond anything else.
struct Progress {
    const char* begin = nullptr;
    const char* at = nullptr;
};

/// An input iterator that reports its position.
class Tracked {
 public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    Tracked(const char* at, Progress* progress) : at_(at), progress_(progress) {}
    reference operator*() const { return *at_; }
    Tracked& operator++() {
        progress_->at = ++at_;
        return *this;
    }
    Tracked operator++(int) {
        Tracked old = *this;
        ++*this;
        return old;
    }
    bool operator==(const Tracked& other) const { return at_ == other.at_; }
    bool operator!=(const Tracked& other) const { return at_ != other.at_; }

 private:
    const char* at_;
    Progress* progress_;
};

/// Builds the tree. nlohmann's library prescribes the names of the handlers.
class Builder {
 public:
    using Json = nlohmann::json;

    explicit Builder(Progress* progress) : progress_(progress), counted_(progress->begin) {}

    bool null() { return add(JsonNode::Kind::kNull); }
    bool boolean(bool value) {
        if (!add(JsonNode::Kind::kBool)) return false;
        last_->boolean = value;
        return true;
    }
    bool number_integer(int64_t value) {
        if (!add(JsonNode::Kind::kInteger)) return false;
        last_->integer = value;
        last_->real = static_cast<double>(value);
        return true;
    }
    bool number_unsigned(uint64_t value) {
        if (!number_integer(static_cast<int64_t>(value))) return false;
        if (value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return true;
        last_->kind = JsonNode::Kind::kUnsigned;
        last_->real = static_cast<double>(value);
        return true;
    }
    bool number_float(double value, const std::string& text) {
        // An integer too large for 64 bits arrives here.
        if (text.find_first_of(".eE") == std::string::npos) return fail(clipped(text) + " does not fit in 64 bits");
        if (!add(JsonNode::Kind::kReal)) return false;
        last_->real = value;
        return true;
    }
    bool string(std::string& value) {
        if (!add(JsonNode::Kind::kText)) return false;
        last_->text = std::move(value);
        return true;
    }
    bool binary(Json::binary_t&) { return fail("binary data"); }
    bool start_object(size_t) { return open(JsonNode::Kind::kObject); }
    bool key(std::string& value) {
        if (is_known(value)) {
            return fail(fmt::format("the key '{}' occurs twice in one object; leave one of the two", clipped(value)));
        }
        open_.back().node->keys.push_back(std::move(value));
        return true;
    }
    bool end_object() { return close(); }
    bool start_array(size_t) { return open(JsonNode::Kind::kList); }
    bool end_array() { return close(); }
    bool parse_error(size_t, const std::string&, const Json::exception& error) {
        // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing ..."
        std::string_view what = error.what();
        const size_t start = what.find("syntax error ");
        if (start != std::string_view::npos) what.remove_prefix(start + 13);
        return fail("malformed JSON: " + clipped(std::string(what)));
    }

    [[nodiscard]] JsonNode& root() { return root_; }
    [[nodiscard]] const std::string& message() const { return message_; }

 private:
    struct Open {
        JsonNode* node;              ///< stays valid: a list grows only while none of its items is open
        std::set<std::string> keys;  ///< the keys of an object that has more than kFewKeys
    };

    bool is_known(const std::string& key) {
        const std::vector<std::string>& keys = open_.back().node->keys;
        if (keys.size() < kFewKeys) return std::find(keys.begin(), keys.end(), key) != keys.end();
        std::set<std::string>& known = open_.back().keys;
        if (known.empty()) known.insert(keys.begin(), keys.end());
        return !known.insert(key).second;
    }

    bool add(JsonNode::Kind kind) {
        if (++values_ > kMostJsonValues) return fail(fmt::format("more than {} values", kMostJsonValues));
        last_ = &root_;
        if (!open_.empty()) {
            std::vector<JsonNode>& items = open_.back().node->items;
            if (items.size() == kMostJsonItems) {
                return fail(fmt::format("more than {} values in one list or object", kMostJsonItems));
            }
            last_ = &items.emplace_back();
        }
        last_->kind = kind;
        const char* read = progress_->at > counted_ ? progress_->at - 1 : counted_;
        line_ += static_cast<int32_t>(std::count(counted_, read, '\n'));
        counted_ = read;
        last_->line = line_;
        return true;
    }
    bool open(JsonNode::Kind kind) {
        if (open_.size() == kMaxDepth) return fail(fmt::format("nested deeper than {} levels", kMaxDepth));
        if (!add(kind)) return false;
        open_.push_back({last_, {}});
        return true;
    }
    bool close() {
        open_.pop_back();
        return true;
    }
    bool fail(std::string message) {
        message_ = std::move(message);
        return false;
    }

    Progress* progress_;
    const char* counted_;
    int32_t line_ = 1;
    JsonNode root_;
    JsonNode* last_ = nullptr;  ///< the value that was added last
    std::vector<Open> open_;
    size_t values_ = 0;
    std::string message_;
};

bool find_path(const JsonNode& from, const JsonNode& value, std::string& path) {
    if (&from == &value) return true;
    for (size_t i = 0; i < from.items.size(); ++i) {
        const size_t length = path.size();
        path += "/" + (from.is(JsonNode::Kind::kObject) ? clipped(from.keys[i]) : std::to_string(i));
        if (find_path(from.items[i], value, path)) return true;
        path.resize(length);
    }
    return false;
}

}  // namespace

const JsonNode* JsonNode::find(std::string_view key) const {
    for (size_t i = 0; i < keys.size(); ++i) {
        if (keys[i] == key) return &items[i];
    }
    return nullptr;
}

Result<JsonNode> parse_json(std::string_view text, std::string_view file) {
    if (text.size() > kMostJsonText) {
        return bad_input(fmt::format("{}: {} bytes are too many, {} are read", file, text.size(), kMostJsonText));
    }
    const char* begin = text.data();
    const char* end = begin + text.size();
    Progress progress{begin, begin};
    Builder builder(&progress);
    const bool sound = nlohmann::json::sax_parse(Tracked(begin, &progress), Tracked(end, &progress), &builder);
    if (sound) return std::move(builder.root());
    const char* last = progress.at > begin ? progress.at - 1 : begin;
    const auto line = 1 + std::count(begin, last, '\n');
    const char* line_start = last;
    while (line_start > begin && line_start[-1] != '\n') --line_start;
    return bad_input(fmt::format("{}:{}:{}: {}", file, line, last - line_start + 1, builder.message()));
}

std::string pointer_of(const JsonNode& root, const JsonNode& value) {
    std::string path;
    find_path(root, value, path);
    return path;
}

std::string clipped(const std::string& word) {
    if (word.size() <= kMostJsonName) return word;
    size_t end = kMostPrinted;
    while (end > 0 && (static_cast<unsigned char>(word[end]) & 0xC0) == 0x80) --end;
    return word.substr(0, end) + "...";
}

const char* describe(const JsonNode& value) {
    switch (value.kind) {
        case JsonNode::Kind::kNull:
            return "null";
        case JsonNode::Kind::kBool:
            return "true or false";
        case JsonNode::Kind::kInteger:
        case JsonNode::Kind::kUnsigned:
        case JsonNode::Kind::kReal:
            return "a number";
        case JsonNode::Kind::kText:
            return "a text";
        case JsonNode::Kind::kList:
            return "a list";
        case JsonNode::Kind::kObject:
            return "an object";
    }
    return "nothing";
}

}  // namespace diopi
