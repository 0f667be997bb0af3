/// How much of the standard a library has, and how much of it the cases of a run reach.
#pragma once

#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "journal/journal.hpp"
#include "report/terminal.hpp"

namespace diopi {

/// A C function of the standard.
struct CoveredFunction {
    std::string_view function, op, family;
    bool is_there = false;  ///< the library has it
    int64_t calls = 0;      ///< steps of the run that called it, or would have if it were there
    int64_t passed = 0;     ///< those that passed
};

struct StandardCoverage {
    std::string backend;
    std::vector<CoveredFunction> functions;  ///< of the whole standard, in its order
    bool has_symbols = true;  ///< false: an older program wrote the journal, which does not say what was called
};

/// `library`: the one that the run tested.
[[nodiscard]] StandardCoverage standard_coverage(const Journal& journal, const Backend& library);

/// A row per family, then the functions that the library lacks, and those that it has and no case reaches.
[[nodiscard]] std::string standard_coverage_text(const StandardCoverage& coverage, const Screen& screen);
[[nodiscard]] std::string standard_coverage_json(const StandardCoverage& coverage);

}  // namespace diopi
