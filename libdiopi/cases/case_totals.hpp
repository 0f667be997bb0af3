/// The number of cases in a selection, counted without expanding them.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "cases/catalogue.hpp"

namespace diopi {

struct CaseTotals {
    CaseCounts operators, models;
    std::map<std::string, CaseCounts> groups;  ///< counts of the operator cases
    std::map<std::string, CaseCounts> by_model;
    std::map<std::string, int64_t> not_implemented;  ///< cases by operator that nothing implements
};

/// Counts the cases of these operators in the whole catalogue.
[[nodiscard]] CaseTotals count_cases(const Catalogue& catalogue, const NameChoice& ops,
                                     const std::function<bool(const std::string& op)>& is_implemented);

}  // namespace diopi
