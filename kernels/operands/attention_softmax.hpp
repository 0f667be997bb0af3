/// The arguments of the softmax of attention scores, checked. Shared by the backends cpu and cuda.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "kernels/operands/view.hpp"

namespace diopi::operands {

/// The hidden keys of scores (batch, heads, seq_q, seq_k): those that the mask names, or all behind the query.
struct HiddenKeys {
    const uint8_t* mask = nullptr;
    std::array<int64_t, 4> sizes{}, strides{};  ///< of the scores, and of the mask
    bool behind = false;

    [[nodiscard]] int64_t rows() const { return sizes[0] * sizes[1] * sizes[2]; }
    [[nodiscard]] int64_t keys() const { return sizes[3]; }

    /// Sets the elements of the hidden keys of a row.
    template <class T>
    void set(int64_t row, T* elements, T value) const {
        const int64_t query = row % sizes[2], head = row / sizes[2] % sizes[1], batch = row / sizes[2] / sizes[1];
        if (behind) {
            std::fill(elements + std::min(query + 1, keys()), elements + keys(), value);
            return;
        }
        const uint8_t* hidden = mask + batch * strides[0] + head * strides[1] + query * strides[2];
        for (int64_t j = 0; j < keys(); ++j) elements[j] = hidden[j * strides[3]] != 0 ? value : elements[j];
    }
};

/// Refuses scores that are not (batch, heads, seq_q, seq_k), a tensor of another shape beside them, and a mask that is
/// not bool or does not broadcast to them.
[[nodiscard]] diopiError_t read_masked_scores(std::string_view op, std::string_view argument, const View& scores,
                                              const View& mask, bool behind, HiddenKeys& hidden);

}  // namespace diopi::operands
