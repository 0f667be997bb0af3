/// Hard cases: generated from the schema's rows, for every dtype, with sizes at boundaries, layouts, broadcasts, values
/// and numbers that the standard's cases leave out. Each pair of levels of two factors (hard/draft.hpp) occurs in the
/// cases of an operator, and the first cases have the most new ones.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "cases/case.hpp"
#include "core/status.hpp"

namespace diopi {

/// The case "hard/<operator>.<seed>.<number>": the same on every machine.
[[nodiscard]] Result<Case> find_hard_case(std::string_view id);

/// Why no hard cases are made for the operator; empty if they are.
[[nodiscard]] std::string why_no_hard_cases(std::string_view op);

/// The operator's hard cases in their order, at most `most` of them. A combination that means nothing for the function
/// is left out, but keeps its number.
[[nodiscard]] std::vector<Case> hard_cases(std::string_view op, uint64_t seed,
                                           size_t most = std::numeric_limits<size_t>::max());

/// The plainest case of each function of the operator: contiguous matrices of mild float32 values.
[[nodiscard]] std::vector<Case> plain_cases(std::string_view op);

}  // namespace diopi
