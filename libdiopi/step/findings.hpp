/// The findings about a step: its first failure, its first warning, its deviations.
#pragma once

#include <string>

#include "backend/backend.hpp"
#include "check/verdict.hpp"
#include "core/status.hpp"
#include "journal/record.hpp"

namespace diopi {

/// Writes findings into a step's result. A step keeps its first failure and its first warning.
class Findings {
 public:
    explicit Findings(StepResult& result) : result_(&result) {}

    /// Ignores a failure of kind kNone.
    void fail(Failure failure);
    /// The call, or a step before or after it, ended with this error.
    void fail(const Error& error) { fail(failure_of(error)); }
    /// Ignores success.
    void fail(const Status& status);
    /// Forgets the first failure, which may have come from this one.
    void replace(Failure failure);
    /// The verdict is not implemented, or failed, depending on the error.
    void refuse(const Error& error);
    /// The verdict is not implemented: the library does not have the function.
    void lacks_function(const Backend& backend, const Row& row);
    /// The same: the library has the function and declined the call.
    void declined(const std::string& message);
    /// Puts words before the failure's reason.
    void explain(const std::string& words) { result_->reason = words + result_->reason; }
    /// Ignores an empty warning.
    void warn(std::string warning);

    [[nodiscard]] bool has_failed() const { return result_->verdict == Verdict::kFailed; }
    [[nodiscard]] StepResult& result() { return *result_; }

 private:
    StepResult* result_;
};

}  // namespace diopi
