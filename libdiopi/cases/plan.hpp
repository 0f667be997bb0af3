/// Whether a case can run at all; all cases are checked before the first one runs.
#pragma once

#include <vector>

#include "cases/case.hpp"
#include "core/status.hpp"
#include "infer/output_spec.hpp"

namespace diopi {

/// Checks that the case can be planned: its arguments bind and its shapes agree. Bad input when they contradict. A
/// function without a shape rule does not fail the case, nor does a result that cannot be stored in place: that step is
/// skipped.
[[nodiscard]] Status plan(const Case& c);

/// The outputs of the case's call: of its forward function, else of that which works in place.
[[nodiscard]] Result<std::vector<OutputSpec>> planned_outputs(const Case& c);

/// Whether the case's in-place function can store its result.
[[nodiscard]] bool runs_in_place(const Case& c);

/// Bad input: the standard has no such operator; the message suggests one.
[[nodiscard]] Error unknown_operator(const std::string& op);

}  // namespace diopi
