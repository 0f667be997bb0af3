/// The runs in which a fault may be seen: cases of the case files, with and without variants, for each function that
/// they call.
#pragma once

#include <string>
#include <vector>

#include "cases/case.hpp"
#include "core/status.hpp"
#include "schema/schema.hpp"

namespace diopi::mutation {

/// One step of one case, under the options of one run.
struct Candidate {
    const Row* row = nullptr;  ///< what the step calls
    std::string step;          ///< "forward", "inplace", "backward"
    Case c;                    ///< only this step is not skipped
    std::string options;       ///< options of diopi test: "", "--strided", "--fill special", ...
    int64_t cost = 0;          ///< estimated nanoseconds
};

struct CandidateOptions {
    std::vector<std::string> ops;  ///< empty: all
    size_t plain = 64;             ///< at most so many cases of a function without options
    size_t varied = 16;            ///< and with each option
    int64_t largest_cost = 40'000'000;
};

/// The candidates of every function that the cpu backend implements, function by function: those without options first,
/// then option after option, and the cheapest first among those. Cases with other dtypes, ranks or arguments come
/// before more of the same kind.
[[nodiscard]] Result<std::vector<Candidate>> find_candidates(const std::string& cases_folder,
                                                             const CandidateOptions& options);

}  // namespace diopi::mutation
