/// The estimated time and memory of a case, for the order of a run and the partition into shards.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/backend.hpp"
#include "cases/case.hpp"

namespace diopi {

/// Bytes of the tensors of a step.
struct StepBytes {
    int64_t read = 0;      ///< const inputs
    int64_t changed = 0;   ///< in-out arguments
    int64_t made = 0;      ///< results
    int64_t widened = 0;   ///< the reference's copies of const inputs, unless it computes in slices
    int64_t expected = 0;  ///< the reference's results, in-out arguments included

    /// The most at one time: while the reference computes, or after the call, which works on copies of in-out
    /// arguments. The results of a second call take the place of the expected ones.
    [[nodiscard]] int64_t most() const { return read + changed + expected + std::max(widened, changed + made); }
};

/// The work of a case, over all of its steps; zero steps if nothing can run.
struct CaseWork {
    int64_t steps = 0;
    int64_t drawn = 0;          ///< elements of the inputs
    int64_t expected = 0;       ///< elements of results: computed by the oracle and the backend, then compared
    int64_t functions = 0;      ///< those of them computed by exp, log and similar functions: accuracy classes C and E
    int64_t converted = 0;      ///< drawn or expected elements that are float16 or bfloat16
    int64_t multiply_adds = 0;  ///< in functions that sum: elements of the result times terms of each
    StepBytes largest;          ///< those of the step that has most: the least host memory that the case needs
};

/// The work computed from shapes alone, without memory. Steps that `backend` does not implement count as nothing.
[[nodiscard]] CaseWork work_of(const Case& c, const Backend& backend);

/// Cost of a case that is settled without running it: skipped, or not implemented.
inline constexpr int64_t kCostOfNothing = 1;

/// Estimated nanoseconds; the same number on every machine.
[[nodiscard]] int64_t cost_of(const Case& c, const Backend& backend);

/// The reason why a case is not run; nullopt for one that is.
using SkipReason = std::function<std::optional<std::string>(const Case&)>;

/// The share of a run's work that is done. It lies between the finished cases alone and these together with the cases
/// that run; where the estimated time says nothing else, the elapsed time decides between the two.
class ShareOfWork {
 public:
    /// Skipped cases cost nothing. `jobs` cases run at a time.
    ShareOfWork(const std::vector<Case>& cases, const Backend& backend, const SkipReason& skip_reason, int jobs);

    /// The share after this case has finished, too, `seconds` after the start.
    double after(const std::string& case_id, double seconds);

 private:
    struct Work {
        double cost = 0;
        bool is_done = false;
    };

    /// The costs of as many unfinished cases as run at a time, those that cost most.
    double running();

    std::vector<Work> work_;  ///< the most expensive first
    std::unordered_map<std::string, size_t> places_;
    size_t first_open_ = 0;
    int jobs_;
    double all_ = 0, done_ = 0;
};

}  // namespace diopi
