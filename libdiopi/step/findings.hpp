/// What is found of a step: its first failure, its first warning, its deviations.
#pragma once

#include <string>

#include "check/verdict.hpp"
#include "core/status.hpp"
#include "journal/record.hpp"

namespace diopi {

/// Notes in a step's result. A step keeps its first failure and its first warning.
class Findings {
 public:
    explicit Findings(StepResult& result) : result_(&result) {}

    /// Does nothing with a failure that is none.
    void fail(Failure failure);
    /// The call, or something around it, ended with this error.
    void fail(const Error& error) { fail(failure_of(error)); }
    /// Does nothing with success.
    void fail(const Status& status);
    /// Not implemented, or failed, as the error says.
    void refuse(const Error& error);
    /// Does nothing with an empty warning.
    void warn(std::string warning);

    [[nodiscard]] bool has_failed() const { return result_->verdict == Verdict::kFailed; }
    [[nodiscard]] StepResult& result() { return *result_; }

 private:
    StepResult* result_;
};

}  // namespace diopi
