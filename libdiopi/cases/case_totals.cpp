#include "cases/case_totals.hpp"

#include <vector>

namespace diopi {

CaseTotals count_cases(const Catalogue& catalogue, const NameChoice& ops,
                       const std::function<bool(const std::string& op)>& is_implemented) {
    CaseTotals totals;
    for (const CaseGroup& group : catalogue.groups()) {
        CaseGroup chosen = group;
        std::erase_if(chosen.ops, [&](const std::string& op) { return !ops.matches(op); });
        if (chosen.ops.empty()) continue;
        const CaseCounts counts = count(chosen);
        const bool is_model = group.suite != "ops";
        (is_model ? totals.models : totals.operators) += counts;
        (is_model ? totals.by_model[group.suite] : totals.groups[group.name]) += counts;
        for (const std::string& each : chosen.ops) {
            if (!is_implemented(each))
                totals.not_implemented[each] += counts.total / static_cast<int64_t>(chosen.ops.size());
        }
    }
    return totals;
}

}  // namespace diopi
