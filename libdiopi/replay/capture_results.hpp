/// The results of a replayed capture, and the difference between those of two replays.
#pragma once

#include <string>
#include <vector>

#include "replay/capture_replay.hpp"

namespace diopi {

/// Host copies of the results of the replay, in the order of CaptureReplay::results().
[[nodiscard]] Result<std::vector<TensorPtr>> results_of(const CaptureReplay& replay, Context& context);

/// The difference of a result from the expected one.
struct ResultDistance {
    double max_abs = 0;  ///< NaN if any element of either is NaN
    double max_rel = 0;  ///< largest among the elements without NaN
    bool same = true;    ///< equal bit by bit
    /// Every element is within tolerance * (root mean square + |expected|), or NaN where NaN is expected. The two parts
    /// of a complex number count as two elements.
    bool within = true;
};

/// Compares two contiguous host tensors of one shape and dtype.
[[nodiscard]] ResultDistance distance_of(const Tensor& actual, const Tensor& expected, double tolerance);

/// "conv1.weight", or the tensor's id where it has no label.
[[nodiscard]] const std::string& title_of(const CapturedTensor& tensor);

}  // namespace diopi
