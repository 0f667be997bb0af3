#include "check/verdict.hpp"

#include <algorithm>
#include <array>

namespace diopi {

namespace {

/// The names in the order of FailureKind.
constexpr std::array<std::string_view, 17> kFailureKinds = {"none",
                                                            "values differ",
                                                            "elements were never written",
                                                            "a stray write",
                                                            "not repeatable",
                                                            "an input was modified",
                                                            "shape or dtype",
                                                            "keeps memory",
                                                            "the stream of the context",
                                                            "state left behind",
                                                            "distribution",
                                                            "printed",
                                                            "out of memory",
                                                            "accepted",
                                                            "crashed",
                                                            "no answer",
                                                            "an error"};
static_assert(kFailureKinds.size() == static_cast<size_t>(FailureKind::kError) + 1);

}  // namespace

const char* name(Verdict verdict) {
    switch (verdict) {
        case Verdict::kPassed:
            return "passed";
        case Verdict::kFailed:
            return "failed";
        case Verdict::kCrashed:
            return "crashed";
        case Verdict::kTimeout:
            return "timeout";
        case Verdict::kSkipped:
            return "skipped";
        case Verdict::kNotImplemented:
            return "not_implemented";
        case Verdict::kAdvice:
            return "advice";
    }
    return "unknown";
}

bool is_failure(Verdict verdict) {
    return verdict == Verdict::kFailed || verdict == Verdict::kCrashed || verdict == Verdict::kTimeout;
}

std::string_view name(FailureKind kind) { return kFailureKinds[static_cast<size_t>(kind)]; }

FailureKind failure_kind(std::string_view name) {
    const auto found = std::ranges::find(kFailureKinds, name);
    return found == kFailureKinds.end() ? FailureKind::kNone : static_cast<FailureKind>(found - kFailureKinds.begin());
}

Failure failure_of(const Error& error) {
    const bool out_of_memory = error.message.find("out of memory") != std::string::npos;
    return {out_of_memory ? FailureKind::kOutOfMemory : FailureKind::kError, error.message};
}

}  // namespace diopi
