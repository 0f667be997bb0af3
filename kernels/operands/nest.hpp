/// The loops over the elements of several operands at once, planned on the host: as few dimensions as the operands
/// allow. Shared by the backends cpu and cuda.
#pragma once

#include <array>
#include <initializer_list>
#include <span>

#include "kernels/operands/view.hpp"

namespace diopi::operands {

constexpr int kMaxOperands = 6;

/// Sizes and strides (in elements) of all operands, the outermost dimension first; rank >= 1. Operand 0 is the output,
/// if there is one.
struct Nest {
    int rank = 1;
    int operands = 0;
    int64_t numel = 0;
    std::array<int64_t, kMaxRank> sizes{};
    std::array<std::array<int64_t, kMaxRank>, kMaxOperands> strides{};

    [[nodiscard]] int64_t inner_size() const { return sizes[static_cast<size_t>(rank - 1)]; }
    [[nodiscard]] int64_t inner_stride(int operand) const {
        return strides[static_cast<size_t>(operand)][static_cast<size_t>(rank - 1)];
    }
    /// Whether operand 0 is one run of neighbours, and each other operand is one, or one element that repeats.
    [[nodiscard]] bool is_run() const;
    /// Whether element numbers and places fit 32 bits.
    [[nodiscard]] bool fits_32_bits() const;
};

/// The nest over `shape` (at most kMaxRank dimensions) with one stride array per operand, as from broadcast_strides.
/// Dimensions of size 1 are dropped, the others are sorted by falling stride (operand 0 decides, then the next ones),
/// and neighbours that are one run for every operand are merged.
[[nodiscard]] Nest make_nest(ShapeView shape, std::span<const int64_t* const> strides);
[[nodiscard]] inline Nest make_nest(ShapeView shape, std::initializer_list<const int64_t*> strides) {
    return make_nest(shape, std::span(strides.begin(), strides.size()));
}
/// The nest over operands[0]'s shape, to which the others must broadcast.
[[nodiscard]] Nest make_nest(std::span<const View> operands);

}  // namespace diopi::operands
