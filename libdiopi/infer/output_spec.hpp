/// What is known of a call's outputs, and what a framework's call says about them: the words of the shape rules.
#pragma once

#include <optional>
#include <vector>

#include "call/call.hpp"
#include "core/status.hpp"

namespace diopi {

/// What the output at position `arg` of a call must be.
struct OutputSpec {
    size_t arg = 0;
    TensorSpec spec;
    /// False where the standard gives the value no meaning: workspace, a sum that the reduction does not use.
    bool has_meaning = true;
};

/// What a framework's call says about its result and the C function only sees in the output tensor.
struct ResultHints {
    bool keepdim = false;
    std::optional<Dtype> dtype;
    std::optional<std::vector<int64_t>> size;  ///< sizes that the result is expanded to; -1 keeps the input's
    bool four_bytes = false;                   ///< outputs that the schema marks so come in 4 bytes instead of 8
};

/// Stands for null inside an integer list, such as output_size = [null, 3]; infer replaces it.
inline constexpr int64_t kFromInput = INT64_MIN;

}  // namespace diopi
