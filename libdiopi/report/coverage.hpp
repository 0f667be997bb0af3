/// The coverage of a run by operator: dtypes, sizes, layouts, values and histories of its hard cases, and the operators
/// without hard cases.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "journal/record.hpp"
#include "json/json_text.hpp"
#include "report/terminal.hpp"

namespace diopi {

/// How many cases had a level, such as "bfloat16" of the factor "dtype".
using LevelCounts = std::map<std::string, int64_t>;

struct OperatorCoverage {
    int64_t cases = 0;      ///< hard cases whose calls reached the library
    int64_t histories = 0;  ///< checks of a call after others, also in the standard's cases
    std::map<std::string, LevelCounts> factors;
};

struct Coverage {
    std::map<std::string, OperatorCoverage> operators;
    /// Operators without hard cases in the run, with the reason, as far as it is known.
    std::map<std::string, std::string> without_hard_cases;

    [[nodiscard]] int64_t hard_cases() const;
};

/// `reasons`: why there are no hard cases, by operator.
[[nodiscard]] Coverage coverage_of(const std::vector<CaseResult>& results,
                                   const std::map<std::string, std::string>& reasons = {});

/// Some lines for the report of a run; empty if it had no hard cases.
[[nodiscard]] std::string coverage_text(const Coverage& coverage, const Screen& screen);
[[nodiscard]] Json coverage_json(const Coverage& coverage);

}  // namespace diopi
