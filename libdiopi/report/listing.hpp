/// A list of what there is: operators, models, backends, ... (diopi list).
#pragma once

#include <string>
#include <vector>

#include "report/table.hpp"

namespace diopi {

struct Listing {
    std::vector<Column> columns;  ///< the first one has the names
    std::vector<std::vector<std::string>> rows;
};

/// A table and the number of rows; `is_quiet`: the names alone, a line each.
[[nodiscard]] std::string listing_text(const Listing& listing, bool is_quiet, const Screen& screen);
/// A list of objects with the titles of the columns as keys; whole numbers are numbers.
[[nodiscard]] std::string listing_json(const Listing& listing);

}  // namespace diopi
