/// Tolerances, verdicts and deviations: the types that comparisons share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.hpp"

namespace diopi {

/// The tolerance of class E and of the legacy check: atol + rtol * |expected|.
struct Tolerance {
    double atol = 1e-5;
    double rtol = 1e-5;
    /// Share of elements that the legacy check lets be wrong.
    double mismatch_ratio = 1e-3;
    /// The case states its own tolerance (rather than the defaults).
    bool stated = false;
    /// The bound of floating outputs that replaces the schema's accuracy class: atol and rtol (class E), or max_ulp
    /// (class C).
    enum class Instead : uint8_t { kNothing, kTolerance, kUlp };
    Instead instead = Instead::kNothing;
    double max_ulp = 0;
};

enum class Verdict {
    kPassed,
    kFailed,
    kCrashed,
    kTimeout,
    kSkipped,
    kNotImplemented,
    kAdvice  ///< a bad call that the library did not refuse as it should: no failure
};

/// "passed", "failed", "crashed", "timeout", "skipped", "not_implemented", "advice".
[[nodiscard]] const char* name(Verdict verdict);
/// Whether it makes a run fail: failed, crashed or timed out.
[[nodiscard]] bool is_failure(Verdict verdict);

/// The kind of a failure, to distinguish two failures without comparing figures.
enum class FailureKind {
    kNone,        ///< nothing failed, or an older journal does not state the kind
    kValues,      ///< elements differ, or NaN and infinities stand elsewhere
    kUnwritten,   ///< elements that were never written
    kStrayWrite,  ///< writes past an edge or between elements
    kNotRepeatable,
    kInputModified,
    kForm,  ///< shape or dtype
    kKeepsMemory,
    kStream,        ///< waited for the stream, or worked on another one
    kState,         ///< changed its caller's state or its arguments, or leaves resources
    kDistribution,  ///< distribution of random numbers
    kPrinted,       ///< output where none is allowed
    kOutOfMemory,
    kAccepted,  ///< a call that must return an error returned success
    kCrashed,   ///< a bad call ended the worker
    kNoAnswer,  ///< a bad call took too long
    kError      ///< anything else: an error code of the library, or an error of the reference
};

/// "values differ", "an input was modified", ...: the name in reports and journals.
[[nodiscard]] std::string_view name(FailureKind kind);
/// The kind with that name; kNone if there is none.
[[nodiscard]] FailureKind failure_kind(std::string_view name);

/// A failure; none if the kind is kNone.
struct Failure {
    FailureKind kind = FailureKind::kNone;
    std::string reason;  ///< one line for users
    [[nodiscard]] bool ok() const { return kind == FailureKind::kNone; }
};

/// kOutOfMemory or kError. Only this function reads it from a message: a library can report exhausted memory in no
/// other way.
[[nodiscard]] Failure failure_of(const Error& error);

/// The deviation of one output from the expected one, with statistics over all elements.
struct Deviation {
    std::string output;         ///< name of the argument that was compared
    char accuracy_class = 'E';  ///< A..F of docs/accuracy.md
    int64_t numel = 0;
    int64_t mismatches = 0;
    double max_ulp = 0, p99_ulp = 0;
    double max_abs = 0, max_rel = 0;
    double cosine = 1;
    double budget_used = 0;  ///< largest share of the allowed error that was used; over 1 is a mismatch
    std::vector<int64_t> worst_index;
    double worst_actual = 0, worst_expected = 0;
    std::string where;  ///< pattern of the mismatches: "last element", "row 3", "every 8th", ...
    /// The wrong elements as picture_of() draws them, and all elements by their error in the bins of UlpHistogram. Both
    /// are empty if nothing is wrong.
    std::vector<std::string> picture;
    std::vector<int64_t> ulp_counts;
};

}  // namespace diopi
