/// Tolerances, verdicts and deviations: the vocabulary of comparisons.
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

enum class Verdict { kPassed, kFailed, kCrashed, kTimeout, kSkipped, kNotImplemented };

/// "passed", "failed", "crashed", "timeout", "skipped", "not_implemented".
[[nodiscard]] const char* name(Verdict verdict);
/// Failed, crashed or timed out: what makes a run fail.
[[nodiscard]] bool is_failure(Verdict verdict);

/// The kind of a failure, to distinguish two failures without comparing figures.
enum class FailureKind {
    kNone,        ///< nothing failed, or a journal of an older version does not tell
    kValues,      ///< elements differ, or NaN and infinities stand elsewhere
    kUnwritten,   ///< elements that were never written
    kStrayWrite,  ///< writes past an edge or between elements
    kNotRepeatable,
    kInputModified,
    kForm,  ///< shape or dtype
    kKeepsMemory,
    kStream,        ///< waited for the stream, or worked beside it
    kDistribution,  ///< of random numbers
    kPrinted,       ///< output where none belongs
    kOutOfMemory,
    kError  ///< anything else: an error code of the library, or what the reference says of the case
};

/// "values differ", "an input was modified", ...: in reports, and as journals keep it.
[[nodiscard]] std::string_view name(FailureKind kind);
/// The kind of that name; kNone where no kind has it.
[[nodiscard]] FailureKind failure_kind(std::string_view name);

/// What is wrong; nothing where the kind is kNone.
struct Failure {
    FailureKind kind = FailureKind::kNone;
    std::string reason;  ///< for people, one line
    [[nodiscard]] bool ok() const { return kind == FailureKind::kNone; }
};

/// kOutOfMemory or kError: the one place that reads it from the message, since a library has nothing but words to say
/// that memory ran out.
[[nodiscard]] Failure failure_of(const Error& error);

/// The deviation of one output from the expected one. Figures of mismatching and matching elements alike.
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
};

}  // namespace diopi
