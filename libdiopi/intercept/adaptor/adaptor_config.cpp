#include "intercept/adaptor/adaptor_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "call/call_name.hpp"
#include "core/suggest.hpp"
#include "json/json_reader.hpp"

namespace diopi {

namespace {

using Kind = JsonNode::Kind;

constexpr std::array kFileKeys = {"$schema", "device", "preset", "check_range", "common", "ops"};
constexpr std::array kRuleKeys = {"dtype", "layout", "contiguous"};
constexpr std::array kOperatorKeys = {"dtype", "layout", "contiguous", "args"};

struct Preset {
    std::string_view name;
    std::string_view text;
};
constexpr Preset kPresets[] = {
    {"contiguous", R"({"common": {"layout": "ND", "contiguous": true}})"},
    {"channels_last", R"({"common": {"layout": ["NLC", "NHWC", "NDHWC"], "contiguous": true}})"},
    {"narrow", R"({"common": {"dtype": "default"}})"},
    {"float32_int32",
     R"({"common": {"dtype": ["(float16, bfloat16, float64)->float32", "(int8, uint8, int16, int64)->int32"],
                    "layout": "ND", "contiguous": true}})"},
};

struct Levels {
    std::string device;
    bool check_range = true;
    AdaptorRule common;
    std::map<std::string, OperatorRule> operators;
};

/// The rows that a key of "ops" matches.
std::vector<const Row*> rows_named(const std::string& key) {
    std::vector<const Row*> found;
    for (const Row& row : rows()) {
        if (key == row.op || key == row.function || key == full_name(row)) found.push_back(&row);
    }
    return found;
}

std::vector<std::string> operator_names() {
    std::set<std::string> names;
    for (const Row& row : rows()) names.insert({std::string(row.op), std::string(row.function), full_name(row)});
    return {names.begin(), names.end()};
}

bool holds_tensors(const Arg& arg) { return arg.is_tensor() || arg.is_tensor_list(); }

class AdaptorReader : public JsonReader {
 public:
    using JsonReader::JsonReader;
    using JsonReader::read;

    bool read(Levels& levels) {
        if (!check_keys(root(), kFileKeys)) return false;
        const JsonNode* device = root().find("device");
        if (device != nullptr && !read_text(*device, "the name of the device", levels.device)) return false;
        if (const JsonNode* preset = root().find("preset"); preset && !read_preset(*preset, levels)) return false;
        const JsonNode* check = root().find("check_range");
        if (check != nullptr && !read(*check, levels.check_range)) return false;
        if (const JsonNode* common = root().find("common")) {
            if (!check_keys(*common, kRuleKeys) || !read_rule(*common, levels.common)) return false;
        }
        const JsonNode* operators = root().find("ops");
        return operators == nullptr || read_operators(*operators, levels.operators);
    }

 private:
    bool read_preset(const JsonNode& node, Levels& levels) {
        std::string word;
        if (!read_text(node, "the name of a preset", word)) return false;
        const auto* preset = std::ranges::find(kPresets, word, &Preset::name);
        if (preset == std::end(kPresets)) return unknown(node, "preset", word, adaptor_presets());
        const std::string file(preset->name);
        const auto tree = parse_json(preset->text, file);
        if (!tree.ok()) return fail(node, tree.error().message);
        AdaptorReader reader(file, *tree);
        return reader.read(levels) || fail(node, reader.error().message);
    }

    bool read_operators(const JsonNode& node, std::map<std::string, OperatorRule>& operators) {
        if (!node.is(Kind::kObject)) return wrong_kind(node, "an object: operators and their rules");
        for (size_t i = 0; i < node.keys.size(); ++i) {
            const std::string& key = node.keys[i];
            const std::vector<const Row*> named = rows_named(key);
            if (named.empty()) return unknown_operator(node.items[i], key);
            if (!read_operator(node.items[i], key, named, operators[key])) return false;
        }
        return true;
    }

    bool unknown_operator(const JsonNode& at, const std::string& key) {
        const std::string hint = did_you_mean(key, operator_names());
        return fail(at, fmt::format("the standard has no operator or function '{}'{}", key,
                                    hint.empty() ? "; diopi report --coverage names them" : hint));
    }

    bool read_operator(const JsonNode& node, const std::string& key, const std::vector<const Row*>& named,
                       OperatorRule& rule) {
        if (!check_keys(node, kOperatorKeys) || !read_rule(node, rule.rule)) return false;
        const JsonNode* args = node.find("args");
        if (args == nullptr) return true;
        if (!args->is(Kind::kObject)) return wrong_kind(*args, "an object: arguments and their rules");
        for (size_t i = 0; i < args->keys.size(); ++i) {
            const JsonNode& item = args->items[i];
            if (!check_argument(item, key, named, args->keys[i])) return false;
            if (!check_keys(item, kRuleKeys) || !read_rule(item, rule.args[args->keys[i]])) return false;
        }
        return true;
    }

    /// Requires a tensor argument of at least one of the rows.
    bool check_argument(const JsonNode& at, const std::string& key, const std::vector<const Row*>& named,
                        const std::string& word) {
        std::set<std::string> known;
        bool is_other = false;
        for (const Row* row : named) {
            for (const Arg& arg : row->args()) {
                if (arg.answers_to(word) && holds_tensors(arg)) return true;
                is_other = is_other || arg.answers_to(word);
                if (holds_tensors(arg)) known.emplace(arg.name);
            }
        }
        const std::vector<std::string> names(known.begin(), known.end());
        if (is_other) {
            return fail(at, fmt::format("argument '{}' of {} is no tensor; its tensors: {}", word, key, join(names)));
        }
        return unknown(at, fmt::format("argument of {}:", key).c_str(), word, names);
    }

    bool read_rule(const JsonNode& node, AdaptorRule& rule) {
        if (const JsonNode* dtype = node.find("dtype"); dtype && !read_casts(*dtype, rule)) return false;
        if (const JsonNode* layout = node.find("layout"); layout && !read_layouts(*layout, rule)) return false;
        const JsonNode* contiguous = node.find("contiguous");
        if (contiguous == nullptr) return true;
        bool value = false;
        if (!read(*contiguous, value)) return false;
        rule.contiguous = value;
        return true;
    }

    bool read_texts(const JsonNode& node, const char* wanted, std::vector<const JsonNode*>& texts) {
        if (node.is(Kind::kText)) {
            texts.push_back(&node);
            return true;
        }
        if (!node.is(Kind::kList)) return wrong_kind(node, wanted);
        for (const JsonNode& item : node.items) {
            if (!item.is(Kind::kText)) return wrong_kind(item, wanted);
            texts.push_back(&item);
        }
        return true;
    }

    bool read_casts(const JsonNode& node, AdaptorRule& rule) {
        std::vector<const JsonNode*> texts;
        if (!read_texts(node, "casts such as \"(int64,float64)->float32\", or a list of them", texts)) return false;
        rule.casts.emplace();
        for (const JsonNode* text : texts) {
            const auto casts = parse_casts(text->text);
            if (!casts.ok()) return fail(*text, casts.error().message);
            for (const DtypeCast& cast : *casts) {
                if (std::ranges::find(*rule.casts, cast.from, &DtypeCast::from) != rule.casts->end()) {
                    return fail(*text, fmt::format("{} is cast twice", name(cast.from)));
                }
                rule.casts->push_back(cast);
            }
        }
        return check_chain(node, *rule.casts);
    }

    /// Refuses a cast to a dtype that is itself cast.
    bool check_chain(const JsonNode& node, const std::vector<DtypeCast>& casts) {
        for (const DtypeCast& cast : casts) {
            const auto next = std::ranges::find(casts, cast.to, &DtypeCast::from);
            if (next == casts.end() || next->to == cast.to) continue;
            return fail(node, fmt::format("{} is cast to {}, which is itself cast to {}; name the dtype that the "
                                          "device accepts",
                                          name(cast.from), name(cast.to), name(next->to)));
        }
        return true;
    }

    bool read_layouts(const JsonNode& node, AdaptorRule& rule) {
        std::vector<const JsonNode*> texts;
        if (!read_texts(node, "a layout such as \"NHWC\", or a list of them", texts)) return false;
        rule.layouts.emplace();
        for (const JsonNode* text : texts) {
            const auto layout = parse_layout(text->text);
            if (!layout) return unknown(*text, "layout", text->text, layout_names());
            rule.layouts->push_back(*layout);
        }
        return true;
    }
};

}  // namespace

std::vector<std::string> adaptor_presets() {
    std::vector<std::string> names;
    for (const Preset& preset : kPresets) names.emplace_back(preset.name);
    return names;
}

Result<AdaptorConfig> adaptor_config_from(std::string_view text, const std::string& file) {
    const auto root = parse_json(text, file);
    if (!root.ok()) return root.error();
    Levels levels;
    AdaptorReader reader(file, *root);
    if (!reader.read(levels)) return reader.error();
    AdaptorConfig config{std::move(levels.device), AdaptorRules(levels.common, levels.operators)};
    config.rules.check_range = levels.check_range;
    return config;
}

Result<AdaptorConfig> read_adaptor_config(const std::string& name_or_path) {
    const auto* preset = std::ranges::find(kPresets, name_or_path, &Preset::name);
    std::error_code error;
    const bool is_file = std::filesystem::exists(name_or_path, error);
    if (preset != std::end(kPresets) && !is_file) return adaptor_config_from(preset->text, name_or_path);
    const bool is_path = name_or_path.find_first_of("/.") != std::string::npos;
    if (!is_file && !is_path) {
        const std::vector<std::string> presets = adaptor_presets();
        const std::string hint = did_you_mean(name_or_path, presets);
        return bad_input(fmt::format("there is neither a file nor a preset '{}'{}", name_or_path,
                                     hint.empty() ? "; presets: " + join(presets) : hint));
    }
    const auto text = read_json_text(name_or_path, "adaptor file");
    if (!text.ok()) return text.error();
    return adaptor_config_from(*text, name_or_path);
}

}  // namespace diopi
