/// Cases of bad calls (step/bad_call.hpp), made from plain cases of the operators that hard cases are made for.
#pragma once

#include <string_view>
#include <vector>

#include "cases/case.hpp"
#include "core/status.hpp"

namespace diopi {

/// The cases "bad/<operator>.<number>" of all functions and steps of the operator; the same on every machine.
[[nodiscard]] std::vector<Case> bad_calls(std::string_view op);

/// One of them.
[[nodiscard]] Result<Case> find_bad_call(std::string_view id);

}  // namespace diopi
