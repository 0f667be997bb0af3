/// The record of each case of a run, which test, journal and report exchange.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "check/verdict.hpp"
#include "journal/adapted.hpp"

namespace diopi {

/// One tensor in the error report's format: (input, float32, (32, 16, 112, 112)).
struct TensorInfo {
    std::string name;
    std::string dtype;
    std::vector<int64_t> shape;
};

/// One call of a case: forward, inplace or backward.
struct StepResult {
    std::string function;  ///< "batch_norm_backward": printed after "diopi_functions."
    std::string step;      ///< "forward", "inplace", "backward"
    Verdict verdict = Verdict::kPassed;
    std::string reason;  ///< one line; empty when passed
    std::vector<Deviation> deviations;
    double seconds = 0;                     ///< time of the operator's call alone
    std::string warning = {};               ///< class D between the warn and the fail bound; empty otherwise
    std::string bundle = {};                ///< the file that replays a failure; empty without one
    FailureKind kind = FailureKind::kNone;  ///< set if the verdict is failed
    AdaptedCalls adapted = {};              ///< conversions by an adaptor
    std::string absent = {};                ///< the C function that the library does not have
    uint64_t hash = 0;                      ///< of its results' bits, if it is wanted and they must be repeatable
    int histories = 0;                      ///< kinds of calls before it that did not change its results
    bool declined = false;                  ///< the library has the function and declined this call
    std::string symbol = {};                ///< the C function: "diopiAddScalar"; empty if the call was not planned
};

/// The whole case. Its verdict is the worst of its steps.
struct CaseResult {
    std::string case_id, suite, op;
    std::string dtype;
    Verdict verdict = Verdict::kPassed;
    std::string reason;
    std::vector<TensorInfo> tensors;
    std::vector<StepResult> steps;
    /// The levels of a hard case by factor, or the change of a bad call; empty for others.
    std::vector<std::pair<std::string, std::string>> choices = {};
    double seconds = 0;       ///< total time: inputs, reference, calls and checks
    std::string notes = {};   ///< lines for standard error, such as a memory checker's
    std::string bundle = {};  ///< for a case whose steps were not completed: its files, separated by spaces
    FailureKind kind =
        FailureKind::kNone;           ///< set if the verdict is failed: the kind of the step that gives the reason
    uint64_t hash = 0;                ///< of the hashes of its steps
    bool passes_alone = false;        ///< it failed, and passed when it was repeated in a process of its own
    std::string step_under_way = {};  ///< the step of a crash or a timeout, if it is known; not in a journal
};

}  // namespace diopi
