/// Softmax over the middle of three dense dimensions.
#pragma once

#include <cstdint>

namespace diopi::cpu {

/// A dense tensor (outer, size, inner); the softmax goes along `size`.
struct SoftmaxShape {
    int64_t outer = 1, size = 1, inner = 1;
    [[nodiscard]] int64_t numel() const { return outer * size * inner; }
};

/// out = exp(x - m) / sum(exp(x - m)), or its logarithm; m the maximum. T is float or double. out may be x.
template <class T>
void softmax(const SoftmaxShape& shape, const T* x, T* out, bool logarithm);

}  // namespace diopi::cpu
