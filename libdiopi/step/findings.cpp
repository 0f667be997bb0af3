#include "step/findings.hpp"

#include <utility>

namespace diopi {

void Findings::fail(Failure failure) {
    if (failure.ok() || has_failed()) return;
    result_->verdict = Verdict::kFailed;
    result_->kind = failure.kind;
    result_->reason = std::move(failure.reason);
}

void Findings::fail(const Status& status) {
    if (!status.ok()) fail(status.error());
}

void Findings::refuse(const Error& error) {
    if (error.code != Errc::kNotImplemented) return fail(error);
    result_->verdict = Verdict::kNotImplemented;
    result_->reason = error.message;
}

void Findings::warn(std::string warning) {
    if (result_->warning.empty()) result_->warning = std::move(warning);
}

}  // namespace diopi
