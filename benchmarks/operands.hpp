/// Tensors for the benchmarks, and a check that two results are equal.
#pragma once

#include <stdexcept>

#include "runtime/context.hpp"

namespace diopi::bench {

/// A contiguous float32 tensor of values in [-1, 1), the same for the same seed. Throws when memory runs out.
[[nodiscard]] TensorPtr random_tensor(const Shape& shape, uint32_t seed);

/// Throws the operator's error message if it failed, so that a benchmark never times an error.
inline void require_success(diopiError_t error) {
    if (error != diopiSuccess) throw std::runtime_error(last_error());
}

/// Whether no element differs by more than 1e-4 of the largest one. Sums in another order differ by less.
[[nodiscard]] bool agree(const Tensor& a, const Tensor& b);

}  // namespace diopi::bench
