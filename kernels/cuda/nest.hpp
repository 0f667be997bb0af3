/// The loops of an element-wise call, planned on the host: as few dimensions as its operands allow.
#pragma once

#include <array>
#include <span>

#include "kernels/cuda/index.hpp"
#include "kernels/cuda/view.hpp"

namespace diopi::cuda {

constexpr int kMaxOperands = 5;

/// Sizes and strides (in elements) of all operands, the outermost dimension first; rank >= 1. Operand 0 is the output.
struct Nest {
    int rank = 1;
    int operands = 0;
    int64_t numel = 0;
    std::array<int64_t, kMaxRank> sizes{};
    std::array<std::array<int64_t, kMaxRank>, kMaxOperands> strides{};

    /// Whether output and inputs are one run of neighbours each, or an input is one element that repeats.
    [[nodiscard]] bool is_run() const;
    /// Whether element numbers and places fit 32 bits.
    [[nodiscard]] bool fits_32_bits() const;
};

/// The nest over operands[0]'s shape (at most kMaxRank dimensions), to which the others must broadcast. Dimensions of
/// size 1 go, the rest is ordered by falling stride of the output, and neighbours that are one run are merged.
[[nodiscard]] Nest make_nest(std::span<const View> operands);

/// Two halves of a nest that does not fit 32 bits, cut where it spans most, and where the second one begins.
struct Halves {
    std::array<Nest, 2> nests;
    std::array<int64_t, kMaxOperands> places{};
};
[[nodiscard]] Halves split(const Nest& nest);

template <class Index, int kOperands>
[[nodiscard]] Walk<Index, kOperands> walk_of(const Nest& nest) {
    Walk<Index, kOperands> walk{};
    walk.rank = nest.rank;
    for (int d = 0; d < nest.rank; ++d) {
        const auto dim = static_cast<size_t>(d);
        walk.sizes[d] = Walk<Index, kOperands>::Size::of(nest.sizes[dim]);
        for (int k = 0; k < kOperands; ++k) {
            walk.strides[k][d] = static_cast<Index>(nest.strides[static_cast<size_t>(k)][dim]);
        }
    }
    return walk;
}

/// Refuses too many dimensions, inputs that do not broadcast to the output's shape, an output that repeats elements.
[[nodiscard]] diopiError_t check_views(std::string_view op, const View& out, std::span<const View> ins);

/// Whether threads that write `out` could change what others still have to read of `in`: they share memory, and not
/// element by element.
[[nodiscard]] bool is_in_the_way(const View& out, const View& in);

/// Whether vectors of `nbytes` bytes can be loaded from there.
[[nodiscard]] inline bool is_aligned(const void* data, size_t nbytes) {
    return reinterpret_cast<uintptr_t>(data) % nbytes == 0;
}

}  // namespace diopi::cuda
