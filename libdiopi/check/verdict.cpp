#include "check/verdict.hpp"

namespace diopi {

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
    }
    return "unknown";
}

}  // namespace diopi
