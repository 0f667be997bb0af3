/// What kind of failure a result is, so that two can be told apart without comparing figures.
#pragma once

#include <string>
#include <string_view>

#include "store/record.hpp"

namespace diopi {

/// Of a result whose verdict is failed; kNone of any other.
enum class FailureKind {
    kNone,
    kValues,      ///< elements differ, or NaN and infinities stand elsewhere
    kUnwritten,   ///< elements that nothing wrote
    kStrayWrite,  ///< writes past an edge or between elements
    kNotRepeatable,
    kInputModified,
    kForm,  ///< shape or dtype
    kKeepsMemory,
    kDistribution,  ///< of random numbers
    kPrinted,       ///< output where none belongs
    kOutOfMemory,
    kError  ///< anything else: an error code of the library, or what the reference says of the case
};

/// "values differ", "an input was modified", ...
[[nodiscard]] std::string_view name(FailureKind kind);

/// By the words of the reason: the one place that knows them.
[[nodiscard]] FailureKind failure_kind(const CaseResult& result);

/// What stays the same when a case is made smaller and fails still for the same cause.
struct FailureSignature {
    Verdict verdict = Verdict::kPassed;
    FailureKind kind = FailureKind::kNone;
    std::string step;  ///< "backward"; empty where it is not known
    std::string text;  ///< of kError: the letters of the reason, without figures
    bool operator==(const FailureSignature&) const = default;
};
[[nodiscard]] FailureSignature signature_of(const CaseResult& result);

}  // namespace diopi
