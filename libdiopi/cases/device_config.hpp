/// Device configuration: rules that skip cases or loosen their tolerances, for operations that a device cannot do, or
/// does less exactly. docs/device_config.md is the description for people, cases/device_config_schema.json the one for
/// editors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cases/case.hpp"
#include "core/status.hpp"

namespace diopi {

/// A word of the file and where it stands: "chip.json:7: /rules/2/ops/0".
struct PlacedWord {
    std::string text;
    std::string place;
};

/// A tensor argument that the case has, of one of the dtypes, ranks and shapes; an empty list asks for nothing.
struct ArgumentCriterion {
    PlacedWord name;
    std::vector<Dtype> dtypes;
    std::vector<int64_t> ranks;
    std::vector<Shape> shapes;
};

/// A parameter that the case states, with one of the values; numbers are equal by value, 1 and 1.0 too.
struct ParamCriterion {
    PlacedWord name;
    std::vector<Param> values;
};

/// One rule: every criterion must hold for a case to match.
struct DeviceRule {
    std::string place;
    std::string reason;
    std::vector<PlacedWord> ops;     ///< globs; empty: any operator
    std::vector<std::string> cases;  ///< globs of ids; empty: any case
    std::vector<Dtype> dtypes;       ///< any tensor has one of them; empty: any dtype
    std::optional<ArgumentCriterion> argument;
    std::optional<ParamCriterion> param;
    bool skip = false;               ///< otherwise it is a tolerance
    std::vector<std::string> steps;  ///< of a skip: a matching case has one of them; empty: the whole case
    std::optional<double> atol, rtol, max_ulp;

    [[nodiscard]] bool matches(const Case& c) const;
    /// "skip", "skip backward", "atol 0.0001, rtol 0.0001", "max_ulp 4".
    [[nodiscard]] std::string effect() const;
};

struct DeviceConfig {
    std::string file;
    std::string device;  ///< its name for people; may be empty
    std::vector<DeviceRule> rules;

    /// "device config: no float64 (rule 2)" of the first rule that skips the whole case, counted from 1.
    [[nodiscard]] std::optional<std::string> skip_reason(const Case& c) const;
};

/// The effects of the rules on the cases of a run.
struct DeviceConfigUse {
    std::vector<int64_t> matched;        ///< cases per rule
    int64_t held = 0;                    ///< cases that are compared with a tolerance of a rule
    std::vector<std::string> unmatched;  ///< a line for each rule that no case matched
    std::vector<std::string> unknown;    ///< a line for each name that the schema does not know, with suggestions
};

/// Reads and checks a device configuration. A message names file, line and JSON pointer.
[[nodiscard]] Result<DeviceConfig> read_device_config(const std::string& path);

/// The same from text; `file` is the name that messages use.
[[nodiscard]] Result<DeviceConfig> parse_device_config(std::string_view text, const std::string& file);

/// Puts skipped steps and tolerances into the cases (a later rule overrides an earlier one), and counts. Cases that are
/// skipped completely do not change: skip_reason() names them.
[[nodiscard]] DeviceConfigUse apply_device_config(const DeviceConfig& config, std::vector<Case>& cases);

}  // namespace diopi
