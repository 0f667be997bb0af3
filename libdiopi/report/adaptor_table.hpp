/// The conversions of an adaptor, by function.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "journal/record.hpp"
#include "report/table.hpp"

namespace diopi {

/// The conversions of the first call of each step; empty if none was adapted.
[[nodiscard]] AdaptedFunctions adapted_functions(const std::vector<CaseResult>& results);

/// Function, calls, conversions, those by the host, bytes, time and dtypes; the most expensive first, the sum last.
[[nodiscard]] Table adaptor_table(const AdaptedFunctions& functions);

/// "3 calls adapted: 9 conversions (2 by the host), 1.2 KB, 0.013 ms; computed: float64 in float32".
[[nodiscard]] std::string adaptor_line(const AdaptedFunctions& functions);

/// An empty line, the table and the line; empty if nothing was adapted.
[[nodiscard]] std::string adapted_text(const AdaptedFunctions& functions, const Screen& screen);

/// A list with one object per function.
[[nodiscard]] std::string adaptor_json(const AdaptedFunctions& functions);

}  // namespace diopi
