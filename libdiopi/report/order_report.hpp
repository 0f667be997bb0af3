/// The report of the record of `test --find-order`.
#pragma once

#include <string>

#include "journal/order_record.hpp"
#include "report/terminal.hpp"

namespace diopi {

/// A table of the cases, then, for each that an order explains, the command that repeats its verdict.
[[nodiscard]] std::string order_report(const OrderRecord& record, const Screen& screen);

[[nodiscard]] std::string order_json(const OrderRecord& record);

}  // namespace diopi
