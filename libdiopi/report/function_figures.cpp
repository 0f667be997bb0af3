#include "report/function_figures.hpp"

#include <algorithm>
#include <cmath>

namespace diopi {

void add_step(const StepResult& step, FiguresByFunction& functions) {
    FunctionFigures& figures = functions[step.function];
    for (const Deviation& deviation : step.deviations) {
        const double share = 100 * deviation.budget_used;
        const bool is_over = std::isnan(share) || deviation.mismatches > 0 || share >= kOverBudget;
        ++figures.budgets[is_over ? kOverBudget : static_cast<int64_t>(std::min(std::ceil(share), 100.0))];
    }
    if (step.seconds <= 0) return;
    ++figures.calls;
    figures.seconds += step.seconds;
    figures.longest = std::max(figures.longest, step.seconds);
}

}  // namespace diopi
