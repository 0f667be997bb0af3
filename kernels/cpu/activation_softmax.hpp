/// Softmax over the middle of three dense dimensions.
#pragma once

#include <algorithm>

#include "kernels/cpu/activation_softmax_rows.hpp"
#include "kernels/cpu/threads.hpp"

namespace diopi::cpu {

/// A dense tensor (outer, size, inner); the softmax goes along `size`.
struct SoftmaxShape {
    int64_t outer = 1, size = 1, inner = 1;
    [[nodiscard]] int64_t numel() const { return outer * size * inner; }
};

/// Calls body(row) for each row of a shape with inner == 1, in threads.
template <class Body>
void for_each_row(const SoftmaxShape& s, Body&& body) {
    parallel_for(s.outer, s.size * 4, [&](int64_t first, int64_t last) {
        for (int64_t row = first; row < last; ++row) body(row);
    });
}

/// Calls body(outer index, first column, columns) for each block of columns, in threads.
template <class Body>
void for_each_block(const SoftmaxShape& s, Body&& body) {
    const int64_t blocks = (s.inner + kSoftmaxColumns - 1) / kSoftmaxColumns;
    parallel_for(s.outer * blocks, s.size * std::min(s.inner, kSoftmaxColumns) * 4, [&](int64_t first, int64_t last) {
        for (int64_t at = first; at < last; ++at) {
            const int64_t column = at % blocks * kSoftmaxColumns;
            body(at / blocks, column, std::min(kSoftmaxColumns, s.inner - column));
        }
    });
}

/// out = softmax(x), or its logarithm. E is float, double, Half or Bfloat16. out may be x.
template <class E>
void softmax(const SoftmaxShape& shape, const E* x, E* out, bool logarithm);

}  // namespace diopi::cpu
