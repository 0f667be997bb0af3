/// Device configuration: rules that skip cases or loosen their tolerances, for operations that a device does not
/// support, or computes less exactly. docs/device_config.md describes it for users, cases/device_config_schema.json for
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

/// A word of the file and its place: "chip.json:7: /rules/2/ops/0".
struct PlacedWord {
    std::string text;
    std::string place;
};

/// A tensor argument of one of these dtypes, ranks and shapes that the case must have; an empty list allows any.
struct ArgumentCriterion {
    PlacedWord name;
    std::vector<Dtype> dtypes;
    std::vector<int64_t> ranks;
    std::vector<Shape> shapes;
};

/// A parameter that the case must state, with one of the values; numbers are equal by value, 1 and 1.0 too.
struct ParamCriterion {
    PlacedWord name;
    std::vector<Param> values;
};

/// A factor of hard cases, at a level that one of these globs matches.
struct FactorCriterion {
    std::string name;
    std::vector<std::string> levels;
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
    std::optional<FactorCriterion> factor;
    bool skip = false;               ///< otherwise it is a tolerance
    std::vector<std::string> steps;  ///< steps to skip: a case must have one of them; empty: the whole case
    std::optional<double> atol, rtol, max_ulp;

    [[nodiscard]] bool matches(const Case& c) const;
    /// Whether it can match hard cases only.
    [[nodiscard]] bool is_of_hard_cases() const;
    /// "skip", "skip backward", "atol 0.0001, rtol 0.0001", "max_ulp 4".
    [[nodiscard]] std::string effect() const;
};

struct DeviceConfig {
    std::string file;
    std::string device;  ///< its name for users; may be empty
    std::vector<DeviceRule> rules;

    /// "device config: no float64 (rule 2)" for the first rule, counted from 1, that skips the whole case.
    [[nodiscard]] std::optional<std::string> skip_reason(const Case& c) const;
};

/// The effects of the rules on the cases of a run.
struct DeviceConfigUse {
    std::vector<int64_t> matched;        ///< cases per rule
    int64_t held = 0;                    ///< cases that are compared with a tolerance of a rule
    std::vector<std::string> unmatched;  ///< a line for each rule that no case matched, and whose kind of case is there
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
