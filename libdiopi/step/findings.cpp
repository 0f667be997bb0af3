#include "step/findings.hpp"

#include <utility>

namespace diopi {

void Findings::fail(Failure failure) {
    if (failure.ok() || has_failed()) return;
    result_->verdict = Verdict::kFailed;
    result_->kind = failure.kind;
    result_->reason = std::move(failure.reason);
}

void Findings::replace(Failure failure) {
    result_->verdict = Verdict::kPassed;
    fail(std::move(failure));
}

void Findings::fail(const Status& status) {
    if (!status.ok()) fail(status.error());
}

void Findings::refuse(const Error& error) {
    if (error.code != Errc::kNotImplemented) return fail(error);
    result_->verdict = Verdict::kNotImplemented;
    result_->reason = error.message;
}

void Findings::lacks_function(const Backend& backend, const Row& row) {
    refuse(lacks(backend, row.function));
    result_->absent = row.function;
}

void Findings::declined(const std::string& message) {
    refuse(not_implemented("declined: " + message));
    result_->declined = true;
}

void Findings::warn(std::string warning) {
    if (result_->warning.empty()) result_->warning = std::move(warning);
}

}  // namespace diopi
