/// The properties of a failure that stay the same while a case is made smaller.
#pragma once

#include <string>

#include "journal/record.hpp"

namespace diopi {

struct FailureSignature {
    Verdict verdict = Verdict::kPassed;
    FailureKind kind = FailureKind::kNone;
    std::string step;  ///< "backward"; empty where it is not known
    std::string text;  ///< for kError: the letters of the reason, without figures
    bool operator==(const FailureSignature&) const = default;
};
[[nodiscard]] FailureSignature signature_of(const CaseResult& result);

}  // namespace diopi
