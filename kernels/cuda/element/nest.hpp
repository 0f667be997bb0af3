/// Nests (operands/nest.hpp) in the form that kernels use.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "kernels/cuda/element/index.hpp"
#include "kernels/cuda/view.hpp"
#include "kernels/operands/nest.hpp"

namespace diopi::cuda {

/// The halves of a nest that does not fit 32 bits, cut along the dimension that spans most, and the second one's first
/// places.
struct Halves {
    std::array<Nest, 2> nests;
    std::array<int64_t, kMaxOperands> places{};
};
[[nodiscard]] Halves split(const Nest& nest);

/// The nest whose elements are packs of `pack` neighbours of operand 0. Each other operand has packs in the same
/// places, or repeats one element in each. All are aligned to packs if the first ones are. None if they are not so.
[[nodiscard]] std::optional<Nest> in_packs(const Nest& nest, int pack);

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

/// Whether vectors of `nbytes` bytes can be loaded from `data`.
[[nodiscard]] inline bool is_aligned(const void* data, size_t nbytes) {
    return reinterpret_cast<uintptr_t>(data) % nbytes == 0;
}

}  // namespace diopi::cuda
