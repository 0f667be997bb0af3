/// compare: compares two implementations call by call.
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
    SimBackend* sim = nullptr;  ///< set if `backend` is a simulated device
    const Backend* against = nullptr;
    /// The floating dtype of the other side's computation; nullopt: that of the call.
    std::optional<Dtype> against_dtype = std::nullopt;
    const ToleranceTable* tolerances = nullptr;
    bool ulp = false;  ///< count the errors of both sides against the float64 oracle
    /// Tools around every call of the first side, outside of the comparison.
    std::vector<Interceptor*> interceptors = {};
    std::string save_folder = {};  ///< folder for both sides of each call that differs; empty: none
    std::function<void(const CompareRow&)> on_row;
};

/// Runs one iteration of the capture on the first backend; both compute each call from the first one's inputs.
[[nodiscard]] Status compare_capture(CaptureReplay& replay, const CompareOptions& options);

/// Compares the steps of a case. A call that the backend declines becomes a row that says so; a failing call becomes an
/// error after the last step.
[[nodiscard]] Status compare_case(const Case& c, uint64_t seed, const CompareOptions& options);

/// The row for a call of a capture that was not compared, with the reason.
[[nodiscard]] CompareRow row_without_answer(const CapturedCall& captured, const std::string& where,
                                            const std::string& why);

/// A line for each tolerance option whose operator had no compared call: most likely it is misspelled.
[[nodiscard]] std::vector<std::string> unused_tolerances(const ToleranceTable& tolerances,
                                                         const std::vector<CompareRow>& rows);

/// Compares the kept values of two captures of one iteration. Their calls are aligned in order, by names, layers and
/// shapes (call_match.hpp). A call in only one capture is a difference. A call in both, but at different positions
/// among the others, is compared and reported as out of order. A call without kept values is skipped.
[[nodiscard]] Status compare_captures(const Capture& one, const CaptureValues& ones_values, const Capture& other,
                                      const CaptureValues& others_values, const CompareOptions& options);

}  // namespace diopi
