/// diopi test --find-order.
#pragma once

#include <string>
#include <vector>

#include "conformance/conformance.hpp"
#include "options.hpp"

namespace diopi {

/// The options of a run of these cases.
struct OrderCommand {
    const CommonOptions& common;
    const ConformanceOptions& conformance;
    const std::vector<Case>& cases;
};

/// Searches, prints the result, and returns the exit code.
int run_order_command(const OrderCommand& command);

}  // namespace diopi
