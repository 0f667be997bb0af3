/// compare: one implementation against another, call by call.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cases/case.hpp"
#include "check/ulp_histogram.hpp"
#include "intercept/autocompare.hpp"
#include "intercept/sim_backend.hpp"
#include "run/capture_replay.hpp"

namespace diopi {

/// One compared tensor, or a call that could not be compared.
struct CompareRow {
    std::string where;  ///< "call 12", "ops/pointwise_binary.add.17 forward"
    std::optional<int64_t> forward_id;
    std::string name;   ///< "add.Tensor", "add.Tensor 1th output", "convolution_backward 0th input grad"
    std::string layer;  ///< of a captured call
    std::string overload, function;
    std::string place;    ///< "out"
    std::string tensor;   ///< "float32[4, 5]"
    std::string seed;     ///< numel, sizes, stride, ...: as the users' lines describe a tensor
    std::string skipped;  ///< why the call was not compared; then nothing below holds
    bool allclose = false;
    double cosine = 1, max_abs = 0, max_rel = 0, atol = 0, rtol = 0;
    std::string error;
    /// Of a tensor that differs: what its call took and gave, "mat1: numel:24, sizes:[4, 6], ...", "alpha: 1".
    std::vector<std::string> inputs, outputs;
    /// Of the first and of the other implementation, where the exact values are known.
    std::optional<UlpHistogram> ulp, other_ulp;
};

[[nodiscard]] std::string to_json_line(const CompareRow& row);
/// nullopt for a line that is none of ours.
[[nodiscard]] std::optional<CompareRow> compare_row_from_json(std::string_view line);

struct CompareOptions {
    const Backend* backend = nullptr;
    SimBackend* sim = nullptr;  ///< where `backend` is a simulated device
    const Backend* against = nullptr;
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

/// The calls of two captures of one iteration whose values were kept, aligned in their order. Rows of calls that stand
/// in one alone, or whose values one did not keep, are skipped ones that say so.
[[nodiscard]] Status compare_captures(const Capture& one, const CaptureValues& ones_values, const Capture& other,
                                      const CaptureValues& others_values, const CompareOptions& options);

}  // namespace diopi
