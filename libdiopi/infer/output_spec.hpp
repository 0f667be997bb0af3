/// The descriptions of a call's outputs, and a framework's hints about them: the types of the shape rules.
#pragma once

#include <optional>
#include <vector>

#include "call/arg_tensor.hpp"
#include "call/call.hpp"
#include "core/status.hpp"

namespace diopi {

/// The required shape and dtype of the output at position `arg` of a call.
struct OutputSpec {
    size_t arg = 0;
    TensorSpec spec;
    /// False where the value is undefined by the standard: workspace, a sum that the reduction does not use.
    bool has_meaning = true;
    size_t position = 0;  ///< in a list of tensors

    [[nodiscard]] ArgPlace place() const { return {arg, position}; }
    bool operator==(const OutputSpec&) const = default;
};

/// Facts of a framework's call about its result that the C function only sees in the output tensor.
struct ResultHints {
    bool keepdim = false;
    std::optional<Dtype> dtype;
    std::optional<std::vector<int64_t>> size;  ///< sizes that the result is expanded to; -1 keeps the input's
    bool whole_channels = false;               ///< what is drawn is drawn once for each channel: dropout2d
    int64_t shared_dims = 0;                   ///< bit d: what is drawn is drawn once for all of dim d: dropout
    bool no_inverse = false;  ///< the positions of the input's elements among the distinct ones are not wanted
    bool four_bytes = false;  ///< outputs that the schema marks for it have 4 bytes instead of 8
};

/// Stands for null inside an integer list, such as output_size = [null, 3]; infer replaces it.
inline constexpr int64_t kFromInput = INT64_MIN;

}  // namespace diopi
