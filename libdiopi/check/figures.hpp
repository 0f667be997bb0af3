/// Figures of the elements of a tensor.
#pragma once

#include <cstdint>

#include "core/tensor.hpp"

namespace diopi {

/// Statistics of the finite elements of a floating tensor, of the real parts of a complex one, or of all integers.
struct TensorFigures {
    int64_t numel = 0;
    int64_t inf_or_nan = 0;
    double min = 0, max = 0, mean = 0, std = 0, norm = 0;

    /// Root mean square; 0 for an empty tensor.
    [[nodiscard]] double rms() const;
};

/// A host tensor, contiguous. `std` is that of a population, `norm` the square root of the sum of squares.
[[nodiscard]] TensorFigures figures_of(const Tensor& host);

/// The share of zeros among the elements of a host tensor, floating and not empty; of a large one, among those of a
/// regular sample.
[[nodiscard]] double share_of_zeros(const Tensor& host);

}  // namespace diopi
