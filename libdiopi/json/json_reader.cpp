#include "json/json_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>

#include "core/extent.hpp"
#include "core/input_file.hpp"
#include "core/suggest.hpp"

namespace diopi {

namespace {

using Kind = JsonNode::Kind;

constexpr size_t kMostRank = 32;  ///< the limit of HDF5
/// More elements are a mistake: in float32 they have half a terabyte.
constexpr int64_t kMostElements = int64_t{1} << 37;
constexpr size_t kMostCandidates = 4096;

std::vector<std::string> dtype_names() {
    std::vector<std::string> names;
    for (const Dtype dtype : all_dtypes()) names.emplace_back(name(dtype));
    return names;
}

}  // namespace

bool JsonReader::fail(const JsonNode& at, const std::string& message) {
    const std::string pointer = pointer_of(root_, at);
    error_ = bad_input(fmt::format("{}:{}: {}: {}", where_, at.line, pointer.empty() ? "/" : pointer, message));
    return false;
}

bool JsonReader::wrong_kind(const JsonNode& at, std::string_view expected) {
    return fail(at, fmt::format("expected {}, got {}", expected, describe(at)));
}

bool JsonReader::unknown(const JsonNode& at, const char* what, const std::string& word,
                         std::span<const std::string> known) {
    const std::string similar = hint(word, known);
    return fail(at, fmt::format("unknown {} '{}'{}", what, clipped(word),
                                similar.empty() ? "; known: " + join(known) : similar));
}

bool JsonReader::check_keys(const JsonNode& object, std::span<const char* const> allowed) {
    if (!object.is(Kind::kObject)) return wrong_kind(object, "an object");
    for (size_t i = 0; i < object.keys.size(); ++i) {
        const std::string& key = object.keys[i];
        if (std::ranges::find(allowed, std::string_view(key)) != allowed.end()) continue;
        const std::vector<std::string> known(allowed.begin(), allowed.end());
        const std::string similar = hint(key, known);
        return fail(object.items[i], fmt::format("unknown key '{}'{}", clipped(key),
                                                 similar.empty() ? "; known here: " + join(known) : similar));
    }
    return true;
}

bool JsonReader::require(const JsonNode& object, const char* key) {
    if (object.find(key) != nullptr) return true;
    return fail(object, fmt::format("the key '{}' is missing", key));
}

bool JsonReader::members(const JsonNode& object, std::initializer_list<const char*> required,
                         std::initializer_list<const char*> optional) {
    std::vector<const char*> allowed(required);
    allowed.insert(allowed.end(), optional);
    return check_keys(object, allowed) &&
           std::ranges::all_of(required, [&](const char* key) { return require(object, key); });
}

bool JsonReader::read(const JsonNode& node, std::string& text) { return read_text(node, "a text", text); }

bool JsonReader::read(const JsonNode& node, bool& value) {
    if (!node.is(Kind::kBool)) return wrong_kind(node, "true or false");
    value = node.boolean;
    return true;
}

bool JsonReader::read(const JsonNode& node, int64_t& value) {
    if (!node.is(Kind::kInteger)) return wrong_kind(node, "an integer of 64 bits with a sign");
    value = node.integer;
    return true;
}

bool JsonReader::read(const JsonNode& node, uint64_t& value) {
    const bool fits = node.is(Kind::kUnsigned) || (node.is(Kind::kInteger) && node.integer >= 0);
    if (!fits) return wrong_kind(node, "an integer from 0 to 2^64 - 1");
    value = static_cast<uint64_t>(node.integer);
    return true;
}

bool JsonReader::read(const JsonNode& node, double& value) {
    const auto special = node.is(Kind::kText) ? special_number(node.text) : std::nullopt;
    if (!special && !node.is_number()) return wrong_kind(node, "a number, \"nan\", \"inf\" or \"-inf\"");
    value = special ? *special : node.real;
    return true;
}

bool JsonReader::read(const JsonNode& node, Dtype& dtype) {
    std::string text;
    if (!read_text(node, "the name of a dtype", text)) return false;
    const auto parsed = parse_dtype(text);
    if (!parsed || *parsed == Dtype::unsupported) return unknown(node, "dtype", text, dtype_names());
    dtype = *parsed;
    return true;
}

bool JsonReader::read(const JsonNode& node, std::vector<int64_t>& list) {
    if (!node.is(Kind::kList)) return wrong_kind(node, "a list of integers");
    list.resize(node.items.size());
    for (size_t i = 0; i < list.size(); ++i) {
        if (!read(node.items[i], list[i])) return false;
    }
    return true;
}

bool JsonReader::read_text(const JsonNode& node, const char* expected, std::string& text) {
    if (!node.is(Kind::kText)) return wrong_kind(node, expected);
    text = node.text;
    return true;
}

bool JsonReader::read_number(const JsonNode& node, double& value) {
    if (!node.is_number()) return wrong_kind(node, "a number");
    value = node.real;
    return true;
}

bool JsonReader::read_list(const JsonNode& node, const char* expected) {
    if (!node.is(Kind::kList)) return wrong_kind(node, expected);
    if (node.items.empty()) return fail(node, fmt::format("expected {}, got an empty list", expected));
    return true;
}

bool JsonReader::read_dtypes(const JsonNode& node, std::vector<Dtype>& dtypes) {
    return read_list(node, "a list of dtypes") &&
           std::ranges::all_of(node.items, [&](const JsonNode& item) { return read(item, dtypes.emplace_back()); });
}

bool JsonReader::read_shape(const JsonNode& node, const char* expected, Shape& shape) {
    if (!node.is(Kind::kList)) return wrong_kind(node, expected);
    for (const JsonNode& item : node.items) {
        if (!item.is(Kind::kInteger)) {
            return fail(item, fmt::format("expected a size (an integer), got {}", describe(item)));
        }
        if (item.integer < 0) return fail(item, fmt::format("a size cannot be negative: {}", item.integer));
        shape.push_back(item.integer);
    }
    if (shape.size() > kMostRank) {
        return fail(node, fmt::format("{} dims; a tensor has at most {}", shape.size(), kMostRank));
    }
    if (!is_addressable(shape)) return fail(node, "the size in bytes overflows 64 bits");
    if (numel(shape) <= kMostElements) return true;
    return fail(node, fmt::format("{} elements in {}; a tensor has at most 2^37", numel(shape), to_string(shape)));
}

bool JsonReader::read_spec(const JsonNode& object, bool may_lack_strides, TensorSpec& spec) {
    if (!read(*object.find("dtype"), spec.dtype) || !read(*object.find("shape"), spec.shape) ||
        !read(*object.find("strides"), spec.strides)) {
        return false;
    }
    if (spec.shape.size() > kMostRank || !is_addressable(spec.shape)) {
        return fail(*object.find("shape"),
                    fmt::format("{} is no shape that a tensor can have: up to {} dims, none negative, "
                                "bytes that int64 can count",
                                clipped(to_string(spec.shape)), kMostRank));
    }
    if (may_lack_strides && spec.strides.empty()) return true;
    if (spec.strides.size() != spec.shape.size()) {
        return fail(*object.find("strides"),
                    fmt::format("{} strides for {} dims; each dim wants one", spec.strides.size(), spec.shape.size()));
    }
    return forward_extent(spec) ||
           fail(*object.find("strides"),
                fmt::format("{} are no strides that a tensor can have: none negative, bytes that "
                            "int64 can count",
                            clipped(to_string(spec.strides))));
}

std::optional<double> special_number(const std::string& text) {
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
    return std::nullopt;
}

std::string join(std::span<const std::string> words) { return fmt::format("{}", fmt::join(words, ", ")); }

std::string hint(const std::string& word, std::span<const std::string> known) {
    return word.size() > kMostJsonName || known.size() > kMostCandidates ? "" : did_you_mean(word, known);
}

bool is_id(std::string_view word) {
    const auto is_odd = [](char c) { return c == '/' || c == '~' || static_cast<unsigned char>(c) < ' ' || c == 127; };
    return !word.empty() && word.size() <= kMostJsonName && word != "." && word != ".." &&
           std::ranges::none_of(word, is_odd);
}

std::optional<int64_t> forward_extent(const TensorSpec& spec) {
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

Result<std::string> read_json_text(const std::string& path, const char* what) {
    if (Status s = check_input_file(path); !s.ok()) return bad_input(fmt::format("{}: {}", what, s.message()));
    std::ifstream stream(path, std::ios::binary);
    if (!stream) return bad_input(fmt::format("{}: the {} cannot be read", path, what));
    return std::string{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace diopi
