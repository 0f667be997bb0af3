/// The text report of failures, in the standard's own format, and the phrases that it shares with the console, the CSV
/// and JUnit.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.hpp"
#include "journal/record.hpp"
#include "report/terminal.hpp"

namespace diopi {

/// One call that did not pass; a case has one for each such step.
struct Fault {
    const CaseResult* result = nullptr;
    std::string function;  ///< "batch_norm_backward"; the operator's name when no step was reached
    std::string step;      ///< empty when no step was reached
    Verdict verdict = Verdict::kFailed;
    std::string reason;
    const Deviation* deviation = nullptr;  ///< the output with the largest error; null when nothing was compared
    std::string bundle = {};               ///< the file that replays it; empty without one
    FailureKind kind = FailureKind::kNone;
};

/// The steps of a case that did not pass, or the case itself if it reached no step. Refers to `result`.
[[nodiscard]] std::vector<Fault> faults_of(const CaseResult& result);
/// Those of all cases, in order.
[[nodiscard]] std::vector<Fault> faults_of(const std::vector<CaseResult>& results);

/// "[(input, float32, (32, 16, 112, 112)), (running_mean, float32, (16,))]".
[[nodiscard]] std::string tensor_info(const std::vector<TensorInfo>& tensors);

/// "Run diopi_functions.relu failed." followed by `gap` and the test tag and tensor info; for a crash or a timeout,
/// "failed" is followed by that.
[[nodiscard]] std::string failure_text(const Fault& fault, std::string_view gap);

/// The figures of an output that was compared, for a reader.
struct DeviationText {
    std::string mismatches;  ///< "3 of 64 elements of grad_input"
    std::string worst;       ///< "[0, 3]: 1.5, expected 1.25"
    std::string error;       ///< "largest 4 ulp, 99% within 1 ulp; absolute 0.25, relative 0.2"
};
[[nodiscard]] DeviationText deviation_text(const Deviation& deviation);

/// A word quoted for a shell: in single quotes if it contains anything but letters, digits and harmless signs.
[[nodiscard]] std::string shell_quoted(const std::string& text);
/// A command line, each word quoted for a shell.
[[nodiscard]] std::string command_text(std::span<const std::string> words);

/// "diopi test --case ID" and `options`, quoted for a shell: the command that repeats one case alone.
[[nodiscard]] std::string repeat_command(const std::string& case_id, const std::string& options);

/// The standard's report as its users know it: failures numbered from 1, then the functions that were skipped or not
/// implemented, with counts.
[[nodiscard]] std::string error_report(const std::vector<CaseResult>& results);

/// The failures in the same form, each with its id, its reason and the command that repeats it, with `options`
/// appended. Empty if nothing failed.
[[nodiscard]] std::string failure_report(const std::vector<CaseResult>& results, const std::string& options);

/// Lines for the cases that were skipped, one for each reason, and a line for the operators that a library lacks. Empty
/// if each case ran.
[[nodiscard]] std::string unrun_report(const std::vector<CaseResult>& results, const Screen& screen);

}  // namespace diopi
