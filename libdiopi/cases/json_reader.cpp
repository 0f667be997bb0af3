#include "cases/json_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string_view>

#include "core/extent.hpp"
#include "core/suggest.hpp"

namespace diopi {

using Kind = JsonNode::Kind;

bool JsonReader::fail(const JsonNode& at, const std::string& message) {
    const std::string pointer = pointer_of(root_, at);
    error_ = bad_input(fmt::format("{}:{}: {}: {}", file_, at.line, pointer.empty() ? "/" : pointer, message));
    return false;
}

bool JsonReader::wrong_kind(const JsonNode& at, const char* wanted) {
    return fail(at, fmt::format("expected {}, got {}", wanted, describe(at)));
}

bool JsonReader::unknown(const JsonNode& at, const char* what, const std::string& word,
                         std::span<const std::string> known) {
    const std::string hint = did_you_mean(word, known);
    return fail(at, fmt::format("unknown {} '{}'{}", what, word, hint.empty() ? "; known: " + join(known) : hint));
}

bool JsonReader::check_keys(const JsonNode& object, std::span<const char* const> allowed) {
    if (!object.is(Kind::kObject)) return wrong_kind(object, "an object");
    for (size_t i = 0; i < object.keys.size(); ++i) {
        const std::string& key = object.keys[i];
        if (std::ranges::find(allowed, std::string_view(key)) != allowed.end()) continue;
        const std::vector<std::string> known(allowed.begin(), allowed.end());
        const std::string hint = did_you_mean(key, known);
        return fail(object.items[i],
                    fmt::format("unknown key '{}'{}", key, hint.empty() ? "; known here: " + join(known) : hint));
    }
    return true;
}

bool JsonReader::require(const JsonNode& object, const char* key) {
    if (object.find(key) != nullptr) return true;
    return fail(object, fmt::format("the key '{}' is missing", key));
}

bool JsonReader::read_text(const JsonNode& node, const char* wanted, std::string& text) {
    if (!node.is(Kind::kText)) return wrong_kind(node, wanted);
    text = node.text;
    return true;
}

bool JsonReader::read_bool(const JsonNode& node, bool& value) {
    if (!node.is(Kind::kBool)) return wrong_kind(node, "true or false");
    value = node.boolean;
    return true;
}

bool JsonReader::read_number(const JsonNode& node, double& value) {
    if (!node.is_number()) return wrong_kind(node, "a number");
    value = node.real;
    return true;
}

bool JsonReader::read_list(const JsonNode& node, const char* wanted) {
    if (!node.is(Kind::kList)) return wrong_kind(node, wanted);
    if (node.items.empty()) return fail(node, fmt::format("expected {}, got an empty list", wanted));
    return true;
}

bool JsonReader::read_dtypes(const JsonNode& node, std::vector<Dtype>& dtypes) {
    if (!read_list(node, "a list of dtypes")) return false;
    for (const JsonNode& item : node.items) {
        std::string text;
        if (!read_text(item, "the name of a dtype", text)) return false;
        const std::optional<Dtype> dtype = parse_dtype(text);
        if (!dtype) {
            std::vector<std::string> known;
            for (const Dtype candidate : all_dtypes()) known.emplace_back(name(candidate));
            return unknown(item, "dtype", text, known);
        }
        dtypes.push_back(*dtype);
    }
    return true;
}

bool JsonReader::read_shape(const JsonNode& node, const char* wanted, Shape& shape) {
    if (!node.is(Kind::kList)) return wrong_kind(node, wanted);
    for (const JsonNode& item : node.items) {
        if (!item.is(Kind::kInteger)) {
            return fail(item, fmt::format("expected a size (an integer), got {}", describe(item)));
        }
        if (item.integer < 0) return fail(item, fmt::format("a size cannot be negative: {}", item.integer));
        shape.push_back(item.integer);
    }
    if (!is_addressable(shape)) return fail(node, "the size in bytes overflows 64 bits");
    return true;
}

bool JsonReader::read_param(const JsonNode& node, Param& param) {
    switch (node.kind) {
        case Kind::kNull:
            return true;
        case Kind::kBool:
            param.value = node.boolean;
            return true;
        case Kind::kInteger:
            param.value = node.integer;
            return true;
        case Kind::kReal:
            param.value = node.real;
            return true;
        case Kind::kText:
            if (const auto special = special_number(node.text)) {
                param.value = *special;
            } else {
                param.value = node.text;
            }
            return true;
        case Kind::kList: {
            std::vector<Param> values(node.items.size());
            for (size_t i = 0; i < values.size(); ++i) {
                if (!read_param(node.items[i], values[i])) return false;
            }
            param.value = std::move(values);
            return true;
        }
        case Kind::kObject:
            break;
    }
    return wrong_kind(node, "a number, a text, true, false, null or a list of these");
}

std::optional<double> special_number(const std::string& text) {
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
    return std::nullopt;
}

std::string join(std::span<const std::string> words) { return fmt::format("{}", fmt::join(words, ", ")); }

Result<std::string> read_json_text(const std::string& path, const char* what) {
    std::ifstream stream(path, std::ios::binary);
    if (std::error_code error; std::filesystem::is_directory(path, error)) {
        return bad_input(fmt::format("{}: a {} is wanted, and this is a folder", path, what));
    }
    if (!stream) return bad_input(fmt::format("{}: the {} cannot be read", path, what));
    return std::string{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace diopi
