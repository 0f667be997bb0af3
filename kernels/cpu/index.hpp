/// Dtypes of the indices that functions return or take.
#pragma once

#include <cstdint>
#include <limits>

#include "core/dtype.hpp"

namespace diopi::cpu {

[[nodiscard]] inline bool is_index(Dtype dtype) { return dtype == Dtype::int64 || dtype == Dtype::int32; }

/// Whether indices below `count` fit.
[[nodiscard]] inline bool holds_indices(Dtype dtype, int64_t count) {
    return dtype == Dtype::int64 || count - 1 <= std::numeric_limits<int32_t>::max();
}

}  // namespace diopi::cpu
