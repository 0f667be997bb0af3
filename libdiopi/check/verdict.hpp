/// Tolerances, verdicts and deviations: the words in which a comparison speaks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace diopi {

/// What class E, and the legacy check, allow: atol + rtol * |expected|.
struct Tolerance {
    double atol = 1e-5;
    double rtol = 1e-5;
    /// Share of elements that the legacy check lets be wrong.
    double mismatch_ratio = 1e-3;
    /// The case states its own tolerance (rather than the defaults).
    bool stated = false;
    /// What holds floating outputs instead of the schema's accuracy class: atol and rtol (class E), or max_ulp (class
    /// C).
    enum class Instead : uint8_t { kNothing, kTolerance, kUlp };
    Instead instead = Instead::kNothing;
    double max_ulp = 0;
};

enum class Verdict { kPassed, kFailed, kCrashed, kTimeout, kSkipped, kNotImplemented };

/// "passed", "failed", "crashed", "timeout", "skipped", "not_implemented".
[[nodiscard]] const char* name(Verdict verdict);

/// How far one output is from what was expected. Figures of mismatching and matching elements alike.
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
