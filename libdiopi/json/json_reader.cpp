#include "json/json_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "core/extent.hpp"
#include "core/suggest.hpp"

namespace diopi {

namespace {

using Tree = JsonReader::Json;

constexpr size_t kMostDepth = 16;
constexpr size_t kMostRank = 32;  ///< that of HDF5
constexpr size_t kMostName = 200;
constexpr size_t kMostCandidates = 4096;
constexpr size_t kMostPrinted = 60;

/// A first pass over the text, without building anything: whether a key occurs twice, how deep it goes, and the order
/// of keys, which the parsed objects do not keep. (The parser's own callback takes quadratic time in large objects.)
class Watch final : public nlohmann::json_sax<Tree> {
 public:
    bool start_object(size_t) override {
        seen_.emplace_back();
        return deeper();
    }
    bool end_object() override {
        seen_.pop_back();
        --depth_;
        return true;
    }
    bool start_array(size_t) override { return deeper(); }
    bool end_array() override {
        --depth_;
        return true;
    }
    bool key(string_t& key) override {
        if (!seen_.back().insert(key).second) {
            return complain(fmt::format("the key '{}' occurs twice in one object; leave one of the two", clipped(key)));
        }
        // The depth counts lists, too.
        if (depth_ == 1) keys.emplace_back(key, std::vector<std::string>());
        if (depth_ == 2 && seen_.size() == 2) keys.back().second.push_back(key);
        return true;
    }
    bool parse_error(size_t, const std::string&, const Tree::exception& e) override {
        const char* message = std::strstr(e.what(), "] ");
        return complain(clipped(message == nullptr ? e.what() : message + 2));
    }
    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }

    /// What is wrong with the text; empty when nothing is.
    std::string complaint;
    /// Of the members of the whole text that are objects.
    std::vector<std::pair<std::string, std::vector<std::string>>> keys;

 private:
    bool deeper() { return ++depth_ <= kMostDepth || complain("nested too deeply"); }
    bool complain(std::string what) {
        complaint = std::move(what);
        return false;
    }

    std::vector<std::set<std::string>> seen_;  ///< in each object that is open
    size_t depth_ = 0;
};

}  // namespace

bool JsonReader::fail(const std::string& at, const std::string& message) {
    error_ = bad_input(fmt::format("{}: {}{}{}", where_, at, at.empty() ? "" : ": ", message));
    return false;
}

bool JsonReader::parse(std::string_view text, Tree& json) {
    if (text.size() > kMostJsonText) {
        return fail("", fmt::format("{} bytes are too many, {} are read", text.size(), kMostJsonText));
    }
    Watch watch;
    if (!Tree::sax_parse(text, &watch)) return fail("", watch.complaint);
    json = Tree::parse(text, nullptr, false);
    keys_ = std::move(watch.keys);
    return true;
}

const std::vector<std::string>& JsonReader::keys_of(std::string_view member) const {
    static const std::vector<std::string> kNone;
    const auto found = std::ranges::find(keys_, member, [](const auto& entry) { return entry.first; });
    return found == keys_.end() ? kNone : found->second;
}

bool JsonReader::members(const Tree& json, const std::string& at, std::initializer_list<const char*> wanted,
                         std::initializer_list<const char*> optional) {
    if (!json.is_object()) return fail(at, "an object is wanted");
    std::vector<std::string> known(wanted.begin(), wanted.end());
    known.insert(known.end(), optional.begin(), optional.end());
    for (const auto& [key, value] : json.items()) {
        if (std::ranges::find(known, key) != known.end()) continue;
        return fail(at, fmt::format("unknown member '{}'{}", clipped(key), hint(key, known)));
    }
    for (const char* key : wanted) {
        if (!json.contains(key)) return fail(at, fmt::format("member '{}' is missing; add it", key));
    }
    return true;
}

bool JsonReader::read(const Tree& json, const std::string& at, std::string& text) {
    if (!json.is_string()) return fail(at, "a text is wanted");
    text = json.get<std::string>();
    return true;
}

bool JsonReader::read(const Tree& json, const std::string& at, bool& value) {
    if (!json.is_boolean()) return fail(at, "true or false is wanted");
    value = json.get<bool>();
    return true;
}

bool JsonReader::read(const Tree& json, const std::string& at, int64_t& value) {
    const bool too_large = json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
    if (!json.is_number_integer() || too_large) return fail(at, "an integer of 64 bits with a sign is wanted");
    value = json.get<int64_t>();
    return true;
}

bool JsonReader::read(const Tree& json, const std::string& at, uint64_t& value) {
    if (!json.is_number_unsigned()) return fail(at, "an integer from 0 to 2^64 - 1 is wanted");
    value = json.get<uint64_t>();
    return true;
}

bool JsonReader::read(const Tree& json, const std::string& at, double& value) {
    if (json.is_number()) {
        value = json.get<double>();
        return true;
    }
    if (json == "nan") value = std::numeric_limits<double>::quiet_NaN();
    if (json == "inf") value = std::numeric_limits<double>::infinity();
    if (json == "-inf") value = -std::numeric_limits<double>::infinity();
    const bool special = json == "nan" || json == "inf" || json == "-inf";
    return special || fail(at, "a number, \"nan\", \"inf\" or \"-inf\" is wanted");
}

bool JsonReader::read(const Tree& json, const std::string& at, Dtype& dtype) {
    std::string text;
    if (!read(json, at, text)) return false;
    const auto parsed = parse_dtype(text);
    if (parsed && *parsed != Dtype::unsupported) {
        dtype = *parsed;
        return true;
    }
    std::vector<std::string> known;
    for (const Dtype d : all_dtypes()) known.emplace_back(name(d));
    return fail(at, fmt::format("there is no dtype '{}'{}", clipped(text), hint(text, known)));
}

bool JsonReader::read(const Tree& json, const std::string& at, std::vector<int64_t>& list) {
    if (!json.is_array() || json.size() > kMostJsonItems) return fail(at, "a list of integers is wanted");
    list.resize(json.size());
    for (size_t i = 0; i < json.size(); ++i) {
        if (!read(json[i], fmt::format("{}/{}", at, i), list[i])) return false;
    }
    return true;
}

bool JsonReader::read_spec(const Tree& json, const std::string& at, bool may_lack_strides, TensorSpec& spec) {
    if (!read(json["dtype"], at + "/dtype", spec.dtype) || !read(json["shape"], at + "/shape", spec.shape) ||
        !read(json["strides"], at + "/strides", spec.strides)) {
        return false;
    }
    if (spec.shape.size() > kMostRank || !is_addressable(spec.shape)) {
        return fail(at + "/shape", fmt::format("{} is no shape that a tensor can have: up to {} dims, none negative, "
                                               "bytes that int64 can count",
                                               clipped(to_string(spec.shape)), kMostRank));
    }
    if (may_lack_strides && spec.strides.empty()) return true;
    if (spec.strides.size() != spec.shape.size()) {
        return fail(at + "/strides",
                    fmt::format("{} strides for {} dims; each dim wants one", spec.strides.size(), spec.shape.size()));
    }
    return checked_extent(spec) ||
           fail(at + "/strides", fmt::format("{} are no strides that a tensor can have: none negative, bytes that "
                                             "int64 can count",
                                             clipped(to_string(spec.strides))));
}

const Tree* JsonReader::find(const Tree& json, const char* key) {
    const auto found = json.find(key);
    return found == json.end() ? nullptr : &*found;
}

std::string hint(const std::string& word, std::span<const std::string> known) {
    return word.size() > kMostName || known.size() > kMostCandidates ? "" : did_you_mean(word, known);
}

std::string clipped(const std::string& word) {
    if (word.size() <= kMostName) return word;
    size_t end = kMostPrinted;
    while (end > 0 && (static_cast<unsigned char>(word[end]) & 0xC0) == 0x80) --end;
    return word.substr(0, end) + "...";
}

bool is_id(std::string_view word) {
    const auto is_odd = [](char c) { return c == '/' || c == '~' || static_cast<unsigned char>(c) < ' ' || c == 127; };
    return !word.empty() && word.size() <= kMostName && word != "." && word != ".." &&
           std::ranges::none_of(word, is_odd);
}

std::optional<int64_t> checked_extent(const TensorSpec& spec) {
    int64_t last = 0;
    for (size_t d = 0; d < spec.shape.size(); ++d) {
        int64_t reach = 0;
        const bool beyond = spec.strides[d] < 0 ||
                            __builtin_mul_overflow(std::max<int64_t>(spec.shape[d] - 1, 0), spec.strides[d], &reach) ||
                            __builtin_add_overflow(last, reach, &last);
        if (beyond) return std::nullopt;
    }
    int64_t nbytes = 0;
    if (__builtin_add_overflow(last, 1, &last) || __builtin_mul_overflow(last, 16, &nbytes)) return std::nullopt;
    return numel(spec.shape) == 0 ? 0 : last;
}

}  // namespace diopi
