/// Whether a case can run at all: checked before the first one runs.
#pragma once

#include "cases/case.hpp"
#include "core/status.hpp"

namespace diopi {

/// Checks that the case can be planned: its arguments bind and its shapes agree. Bad input when they contradict;
/// functions without a shape rule do not fail the case, nor does a result that cannot be stored in place: that step is
/// skipped.
[[nodiscard]] Status plan(const Case& c);

/// Bad input: the standard has no such operator, with the one that was probably meant.
[[nodiscard]] Error unknown_operator(const std::string& op);

}  // namespace diopi
