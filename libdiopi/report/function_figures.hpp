/// The accuracy and the time of a function's calls in a run.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "journal/record.hpp"

namespace diopi {

/// The highest share of the allowed error that FunctionFigures distinguishes: an output that used more, or that has a
/// mismatch.
inline constexpr int64_t kOverBudget = 101;

struct FunctionFigures {
    std::map<int64_t, int64_t> budgets;  ///< outputs by the share of the allowed error, in percent, at most kOverBudget
    int64_t calls = 0;                   ///< with a measured time
    double seconds = 0, longest = 0;
};

/// The key is the function's name.
using FiguresByFunction = std::map<std::string, FunctionFigures>;

void add_step(const StepResult& step, FiguresByFunction& functions);

}  // namespace diopi
