#include "cases/device_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "cases/bind.hpp"
#include "cases/param_json.hpp"
#include "core/glob.hpp"
#include "core/suggest.hpp"
#include "json/json_reader.hpp"
#include "schema/schema.hpp"

namespace diopi {

namespace {

using Kind = JsonNode::Kind;

constexpr std::array kConfigKeys = {"$schema", "device", "rules"};
constexpr std::array kRuleKeys = {"ops",  "cases", "dtypes", "argument", "param",   "factor",
                                  "skip", "steps", "atol",   "rtol",     "max_ulp", "reason"};
constexpr std::array kCriteria = {"ops", "cases", "dtypes", "argument", "param", "factor"};
constexpr std::array kTolerances = {"atol", "rtol", "max_ulp"};
constexpr std::array kArgumentKeys = {"name", "dtypes", "ranks", "shapes"};
constexpr std::array kParamKeys = {"name", "values"};
constexpr std::array kFactorKeys = {"name", "levels"};
/// The factors whose level a hard case states.
constexpr std::array kFactors = {"size", "form", "layout", "other layout", "values"};
constexpr std::array kSteps = {"forward", "inplace", "backward"};

/// Turns the tree of a file into rules. Every step returns false after it has stated the first error.
class DeviceConfigReader : public JsonReader {
 public:
    using JsonReader::JsonReader;
    using JsonReader::read;

    bool read(DeviceConfig& config);

 private:
    [[nodiscard]] std::string place_of(const JsonNode& node) const;
    bool read_word(const JsonNode& node, const char* wanted, PlacedWord& word);
    bool read_rule(const JsonNode& node, DeviceRule& rule);
    bool read_criteria(const JsonNode& node, DeviceRule& rule);
    bool read_argument(const JsonNode& node, ArgumentCriterion& argument);
    bool read_param_criterion(const JsonNode& node, ParamCriterion& param);
    bool read_factor(const JsonNode& node, FactorCriterion& factor);
    bool read_one_of(const JsonNode& node, const char* kind, std::span<const char* const> known, std::string& word);
    bool read_skip(const JsonNode& node, DeviceRule& rule);
    bool read_tolerance(const JsonNode& node, DeviceRule& rule);
};

std::string DeviceConfigReader::place_of(const JsonNode& node) const {
    return fmt::format("{}:{}: {}", where(), node.line, pointer_of(root(), node));
}

bool DeviceConfigReader::read_word(const JsonNode& node, const char* wanted, PlacedWord& word) {
    if (!read_text(node, wanted, word.text)) return false;
    if (word.text.empty()) return fail(node, fmt::format("expected {}, got an empty text", wanted));
    word.place = place_of(node);
    return true;
}

bool DeviceConfigReader::read(DeviceConfig& config) {
    config.file = where();
    if (!check_keys(root(), kConfigKeys) || !require(root(), "rules")) return false;
    const JsonNode* device = root().find("device");
    if (device != nullptr && !read_text(*device, "the name of the device", config.device)) return false;
    const JsonNode& list = *root().find("rules");
    if (!read_list(list, "a list of rules")) return false;
    return std::ranges::all_of(list.items,
                               [&](const JsonNode& node) { return read_rule(node, config.rules.emplace_back()); });
}

bool DeviceConfigReader::read_rule(const JsonNode& node, DeviceRule& rule) {
    if (!check_keys(node, kRuleKeys) || !require(node, "reason")) return false;
    rule.place = place_of(node);
    PlacedWord reason;
    if (!read_word(*node.find("reason"), "the reason of the rule", reason)) return false;
    rule.reason = std::move(reason.text);
    if (!read_criteria(node, rule)) return false;
    return node.find("skip") != nullptr ? read_skip(node, rule) : read_tolerance(node, rule);
}

bool DeviceConfigReader::read_criteria(const JsonNode& node, DeviceRule& rule) {
    if (std::ranges::none_of(kCriteria, [&](const char* key) { return node.find(key) != nullptr; })) {
        return fail(node, "a rule says which cases it is for: \"ops\": [\"*\"] for all, or one of " +
                              fmt::format("{}", fmt::join(kCriteria, ", ")));
    }
    if (const JsonNode* ops = node.find("ops")) {
        if (!read_list(*ops, "a list of operators")) return false;
        for (const JsonNode& item : ops->items) {
            if (!read_word(item, "the name of an operator", rule.ops.emplace_back())) return false;
        }
    }
    if (const JsonNode* cases = node.find("cases")) {
        if (!read_list(*cases, "a list of ids of cases")) return false;
        for (const JsonNode& item : cases->items) {
            if (!read_text(item, "the id of a case", rule.cases.emplace_back())) return false;
        }
    }
    if (const JsonNode* dtypes = node.find("dtypes"); dtypes && !read_dtypes(*dtypes, rule.dtypes)) return false;
    if (const JsonNode* argument = node.find("argument")) {
        if (!read_argument(*argument, rule.argument.emplace())) return false;
    }
    const JsonNode* param = node.find("param");
    if (param != nullptr && !read_param_criterion(*param, rule.param.emplace())) return false;
    const JsonNode* factor = node.find("factor");
    return factor == nullptr || read_factor(*factor, rule.factor.emplace());
}

bool DeviceConfigReader::read_argument(const JsonNode& node, ArgumentCriterion& argument) {
    if (!check_keys(node, kArgumentKeys) || !require(node, "name")) return false;
    if (!read_word(*node.find("name"), "the name of an argument", argument.name)) return false;
    if (const JsonNode* dtypes = node.find("dtypes"); dtypes && !read_dtypes(*dtypes, argument.dtypes)) return false;
    if (const JsonNode* ranks = node.find("ranks")) {
        if (!read_list(*ranks, "a list of ranks")) return false;
        for (const JsonNode& item : ranks->items) {
            if (!item.is(Kind::kInteger) || item.integer < 0) return wrong_kind(item, "a rank (an integer from 0)");
            argument.ranks.push_back(item.integer);
        }
    }
    if (const JsonNode* shapes = node.find("shapes")) {
        if (!read_list(*shapes, "a list of shapes")) return false;
        for (const JsonNode& item : shapes->items) {
            if (!read_shape(item, "a shape (a list of sizes)", argument.shapes.emplace_back())) return false;
        }
    }
    return true;
}

bool DeviceConfigReader::read_param_criterion(const JsonNode& node, ParamCriterion& param) {
    if (!check_keys(node, kParamKeys) || !require(node, "name") || !require(node, "values")) return false;
    if (!read_word(*node.find("name"), "the name of a parameter", param.name)) return false;
    const JsonNode& values = *node.find("values");
    if (!read_list(values, "a list of values")) return false;
    return std::ranges::all_of(
        values.items, [&](const JsonNode& item) { return read_param(*this, item, param.values.emplace_back()); });
}

bool DeviceConfigReader::read_factor(const JsonNode& node, FactorCriterion& factor) {
    if (!check_keys(node, kFactorKeys) || !require(node, "name") || !require(node, "levels")) return false;
    if (!read_one_of(*node.find("name"), "factor", kFactors, factor.name)) return false;
    const JsonNode& levels = *node.find("levels");
    if (!read_list(levels, "a list of levels")) return false;
    return std::ranges::all_of(levels.items, [&](const JsonNode& item) {
        return read_text(item, "a level of the factor", factor.levels.emplace_back());
    });
}

bool DeviceConfigReader::read_one_of(const JsonNode& node, const char* kind, std::span<const char* const> known,
                                     std::string& word) {
    if (!read_text(node, fmt::format("the name of a {}", kind).c_str(), word)) return false;
    const std::vector<std::string> words(known.begin(), known.end());
    return std::ranges::find(words, word) != words.end() || unknown(node, kind, word, words);
}

bool DeviceConfigReader::read_skip(const JsonNode& node, DeviceRule& rule) {
    const JsonNode& skip = *node.find("skip");
    if (!read(skip, rule.skip)) return false;
    if (!rule.skip) return fail(skip, "expected true; a rule that is not to skip is left out");
    for (const char* key : kTolerances) {
        if (const JsonNode* item = node.find(key)) return fail(*item, "a rule skips, or it sets a tolerance, not both");
    }
    const JsonNode* steps = node.find("steps");
    if (steps == nullptr) return true;
    if (!read_list(*steps, "a list of steps")) return false;
    return std::ranges::all_of(steps->items, [&](const JsonNode& item) {
        return read_one_of(item, "step", kSteps, rule.steps.emplace_back());
    });
}

bool DeviceConfigReader::read_tolerance(const JsonNode& node, DeviceRule& rule) {
    if (const JsonNode* steps = node.find("steps")) return fail(*steps, "'steps' go with 'skip'");
    const std::array<std::optional<double>*, 3> values = {&rule.atol, &rule.rtol, &rule.max_ulp};
    for (size_t i = 0; i < kTolerances.size(); ++i) {
        const JsonNode* item = node.find(kTolerances[i]);
        if (item == nullptr) continue;
        if (!read_number(*item, values[i]->emplace())) return false;
        if (item->real < 0) return fail(*item, "a tolerance cannot be negative");
    }
    if (rule.max_ulp && (rule.atol || rule.rtol)) {
        return fail(*node.find("max_ulp"), "a rule sets 'atol' and 'rtol', or 'max_ulp', not both");
    }
    if (rule.atol || rule.rtol || rule.max_ulp) return true;
    return fail(node, "a rule says \"skip\": true, or sets 'atol' and 'rtol', or 'max_ulp'");
}

template <class List, class Item>
bool is_empty_or_has(const List& list, const Item& item) {
    return list.empty() || std::ranges::find(list, item) != list.end();
}

bool matches_any(const std::vector<std::string>& globs, const std::string& text) {
    return globs.empty() || std::ranges::any_of(globs, [&](const std::string& g) { return matches_glob(g, text); });
}

bool names_operator(const DeviceRule& rule, std::string_view op) {
    return rule.ops.empty() ||
           std::ranges::any_of(rule.ops, [&](const PlacedWord& word) { return matches_glob(word.text, op); });
}

/// Elements of a list argument are found by the list's name.
bool is_argument(const CaseTensor& tensor, const std::string& name) {
    return !tensor.absent && name == (tensor.list.empty() ? tensor.name : tensor.list);
}

bool holds(const ArgumentCriterion& wanted, const Case& c) {
    return std::ranges::any_of(c.tensors, [&](const CaseTensor& tensor) {
        return is_argument(tensor, wanted.name.text) && std::ranges::any_of(tensor.specs, [&](const TensorSpec& spec) {
                   return is_empty_or_has(wanted.dtypes, spec.dtype) &&
                          is_empty_or_has(wanted.ranks, static_cast<int64_t>(spec.shape.size())) &&
                          is_empty_or_has(wanted.shapes, spec.shape);
               });
    });
}

std::optional<double> number_of(const Param& param) {
    if (const auto* whole = std::get_if<int64_t>(&param.value)) return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&param.value)) return *real;
    return std::nullopt;
}

bool equal(const Param& a, const Param& b) {
    const std::optional<double> x = number_of(a), y = number_of(b);
    const bool whole = std::holds_alternative<int64_t>(a.value) && std::holds_alternative<int64_t>(b.value);
    if (x && y && !whole) return *x == *y || (std::isnan(*x) && std::isnan(*y));
    const auto* list = std::get_if<std::vector<Param>>(&a.value);
    const auto* other = std::get_if<std::vector<Param>>(&b.value);
    return list != nullptr && other != nullptr ? std::ranges::equal(*list, *other, equal) : a == b;
}

bool holds(const ParamCriterion& wanted, const Case& c) {
    const Param* stated = c.param(wanted.name.text);
    return stated != nullptr &&
           std::ranges::any_of(wanted.values, [&](const Param& value) { return equal(value, *stated); });
}

bool holds(const FactorCriterion& wanted, const Case& c) {
    return std::ranges::any_of(c.choices, [&](const auto& choice) {
        return choice.first == wanted.name && matches_any(wanted.levels, choice.second);
    });
}

bool has_step(const Case& c, const std::string& step) {
    if (step == "inplace") return c.inplace;
    return step == "forward" || c.backward;
}

std::string skip_text(const DeviceRule& rule, size_t index) {
    return fmt::format("device config: {} (rule {})", rule.reason, index + 1);
}

void apply_rule(const DeviceRule& rule, size_t index, Case& c) {
    for (const std::string& step : rule.steps) {
        if (has_step(c, step) && c.skip_reason(step) == nullptr) {
            c.skipped_steps.push_back({step, skip_text(rule, index)});
        }
    }
    if (rule.skip) return;
    Tolerance& tolerance = c.tolerance;
    tolerance.stated = true;
    tolerance.instead = rule.max_ulp ? Tolerance::Instead::kUlp : Tolerance::Instead::kTolerance;
    tolerance.atol = rule.atol.value_or(tolerance.atol);
    tolerance.rtol = rule.rtol.value_or(tolerance.rtol);
    tolerance.max_ulp = rule.max_ulp.value_or(tolerance.max_ulp);
}

/// A call with the other parameters is left out where a rule skips a case with them, or a step of it.
void apply_to_other_call(const DeviceConfig& config, Case& c) {
    if (c.other_params.empty()) return;
    Case other = c;
    other.params = c.other_params;
    const auto skips = [&](const DeviceRule& rule) { return rule.skip && rule.matches(other); };
    if (std::ranges::any_of(config.rules, skips)) c.other_params.clear();
}

/// Whether any function of the operators that the rule names takes an argument that cases call `word`.
bool is_known_word(const DeviceRule& rule, const std::string& word, std::vector<std::string>& known) {
    for (const Row& row : rows()) {
        if (row.variant == Variant::backward || !names_operator(rule, row.op)) continue;
        for (const Arg& arg : row.args()) {
            if (arg.is_output) continue;
            if (arg.answers_to(word)) return true;
            known.emplace_back(arg.alias.empty() ? arg.name : arg.alias);
        }
    }
    return is_hint(word);
}

/// Names that the schema does not know, one line each. They are no errors: a later standard may have them.
std::vector<std::string> unknown_names(const DeviceConfig& config) {
    std::vector<std::string> lines, operators;
    for (const Row& row : rows()) operators.emplace_back(row.op);
    for (const DeviceRule& rule : config.rules) {
        for (const PlacedWord& op : rule.ops) {
            if (std::ranges::any_of(operators, [&](const auto& name) { return matches_glob(op.text, name); })) continue;
            lines.push_back(fmt::format("{}: the standard has no operator '{}'{}", op.place, op.text,
                                        did_you_mean(op.text, operators)));
        }
        const auto check = [&](const PlacedWord& word, const char* kind) {
            std::vector<std::string> known;
            if (is_known_word(rule, word.text, known) || known.empty()) return;
            lines.push_back(fmt::format("{}: no operator of this rule has {} '{}'{}", word.place, kind, word.text,
                                        did_you_mean(word.text, known)));
        };
        if (rule.argument) check(rule.argument->name, "an argument");
        if (rule.param) check(rule.param->name, "a parameter");
    }
    return lines;
}

}  // namespace

bool DeviceRule::is_of_hard_cases() const {
    const auto is_hard = [](const std::string& id) { return id.starts_with(std::string(kHardSuite) + "/"); };
    return factor.has_value() || (!cases.empty() && std::ranges::all_of(cases, is_hard));
}

bool DeviceRule::matches(const Case& c) const {
    if (!names_operator(*this, c.op)) return false;
    if (!dtypes.empty() && std::ranges::none_of(dtypes, [&](Dtype dtype) { return c.uses(dtype); })) return false;
    if (argument && !holds(*argument, c)) return false;
    if (param && !holds(*param, c)) return false;
    if (factor && !holds(*factor, c)) return false;
    if (!steps.empty() && std::ranges::none_of(steps, [&](const std::string& step) { return has_step(c, step); })) {
        return false;
    }
    return cases.empty() || matches_any(cases, c.id());
}

std::string DeviceRule::effect() const {
    if (skip) return steps.empty() ? "skip" : "skip " + join(steps);
    if (max_ulp) return fmt::format("max_ulp {}", *max_ulp);
    std::string text;
    if (atol) text += fmt::format("atol {}", *atol);
    if (rtol) text += fmt::format("{}rtol {}", text.empty() ? "" : ", ", *rtol);
    return text;
}

std::optional<std::string> DeviceConfig::skip_reason(const Case& c) const {
    for (size_t i = 0; i < rules.size(); ++i) {
        const bool whole = rules[i].skip && rules[i].steps.empty();
        if (whole && rules[i].matches(c)) return skip_text(rules[i], i);
    }
    return std::nullopt;
}

Result<DeviceConfig> parse_device_config(std::string_view text, const std::string& file) {
    const Result<JsonNode> root = parse_json(text, file);
    if (!root.ok()) return root.error();
    DeviceConfig config;
    DeviceConfigReader reader(file, *root);
    if (!reader.read(config)) return reader.error();
    return config;
}

Result<DeviceConfig> read_device_config(const std::string& path) {
    const Result<std::string> text = read_json_text(path, "device configuration");
    if (!text.ok()) return text.error();
    return parse_device_config(*text, path);
}

DeviceConfigUse apply_device_config(const DeviceConfig& config, std::vector<Case>& cases) {
    DeviceConfigUse use;
    use.matched.resize(config.rules.size());
    for (Case& c : cases) {
        apply_to_other_call(config, c);
        bool loosened = false;
        for (size_t i = 0; i < config.rules.size(); ++i) {
            if (!config.rules[i].matches(c)) continue;
            ++use.matched[i];
            apply_rule(config.rules[i], i, c);
            loosened = loosened || !config.rules[i].skip;
        }
        if (loosened && !c.random && !config.skip_reason(c)) ++use.held;
    }
    const bool has_hard_cases = std::ranges::any_of(cases, [](const Case& c) { return c.suite == kHardSuite; });
    for (size_t i = 0; i < config.rules.size(); ++i) {
        const bool may_match = has_hard_cases || !config.rules[i].is_of_hard_cases();
        if (use.matched[i] == 0 && may_match) use.unmatched.push_back(config.rules[i].place + ": matches no case");
    }
    use.unknown = unknown_names(config);
    return use;
}

}  // namespace diopi
