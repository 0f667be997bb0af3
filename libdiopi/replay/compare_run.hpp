/// compare: one implementation against another, call by call.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cases/case.hpp"
#include "intercept/sim_backend.hpp"
#include "replay/capture_replay.hpp"
#include "replay/rows_of_call.hpp"

namespace diopi {

struct CompareOptions {
    const Backend* backend = nullptr;
    SimBackend* sim = nullptr;  ///< where `backend` is a simulated device
    const Backend* against = nullptr;
    /// The floating dtype that the other side computes in; nullopt: that of the call.
    std::optional<Dtype> against_dtype = std::nullopt;
    const ToleranceTable* tolerances = nullptr;
    bool ulp = false;  ///< count the errors of both sides against the float64 oracle
    /// Tools around every call of the first side, outside of the comparison.
    std::vector<Interceptor*> interceptors = {};
    std::string save_folder = {};  ///< both sides of each call that differs; empty: nowhere
    std::function<void(const CompareRow&)> on_row;
};

/// One iteration of the capture on the first backend; each call is answered by both with the inputs of the first.
[[nodiscard]] Status compare_capture(CaptureReplay& replay, const CompareOptions& options);

/// The steps of a case; a call that the backend refuses to answer is a row that says so, one that fails an error after
/// the last step.
[[nodiscard]] Status compare_case(const Case& c, uint64_t seed, const CompareOptions& options);

/// A call of a capture that has no answer to compare, and why.
[[nodiscard]] CompareRow row_without_answer(const CapturedCall& captured, const std::string& where,
                                            const std::string& why);

/// A line for each tolerance of an option that is for an operator of which no call was compared: most likely a slip.
[[nodiscard]] std::vector<std::string> unused_tolerances(const ToleranceTable& tolerances,
                                                         const std::vector<CompareRow>& rows);

/// The calls of two captures of one iteration whose values were kept. They are aligned in their order, by their names,
/// layers and shapes (call_match.hpp). A call in only one of them is a difference; a call in both, but at different
/// positions among the others, is compared and out of order; one whose values were not kept is skipped.
[[nodiscard]] Status compare_captures(const Capture& one, const CaptureValues& ones_values, const Capture& other,
                                      const CaptureValues& others_values, const CompareOptions& options);

}  // namespace diopi
