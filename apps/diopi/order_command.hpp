/// diopi test --find-order, and the choice of cases of --in-order.
#pragma once

#include <string>
#include <vector>

#include "conformance/conformance.hpp"
#include "options.hpp"

namespace diopi {

/// What a run of these cases would be told.
struct OrderCommand {
    const CommonOptions& common;
    const ConformanceOptions& conformance;
    const std::vector<Case>& cases;
};

/// Searches, prints what was found, and returns the exit code.
int run_order_command(const OrderCommand& command);

/// The cases of these ids, in their order, their plans checked as choose_cases does.
[[nodiscard]] Result<std::vector<Case>> choose_cases_in_order(const CommonOptions& options,
                                                              const std::vector<std::string>& ids,
                                                              const Backend& backend);

}  // namespace diopi
