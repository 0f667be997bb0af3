/// The order of cases in reports: the same for any order of the run and any number of machines.
#pragma once

#include <string_view>
#include <vector>

#include "journal/record.hpp"

namespace diopi {

/// Whether id `a` precedes `b`: character by character, but with runs of digits as numbers, so that add.9 precedes
/// add.17. No two different ids are equal.
[[nodiscard]] bool natural_less(std::string_view a, std::string_view b);

/// Sorts results by their case ids in that order.
void sort_by_case(std::vector<CaseResult>& results);

}  // namespace diopi
