/// Index arithmetic from element numbers to places, shared with the host, so that it is tested without a GPU.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/operands/view.hpp"

#ifdef __CUDACC__
#define DIOPI_HOST_DEVICE __host__ __device__
#else
#define DIOPI_HOST_DEVICE
#endif

namespace diopi::cuda {

using operands::kMaxRank;

/// A size by which an index is divided without a division: for n < 2^31, n / size = (n + (n * multiplier >> 32)) >>
/// shift. Source: Granlund and Montgomery, Division by Invariant Integers using Multiplication, figure 4.1.
struct FastSize {
    uint32_t size = 1;
    uint32_t multiplier = 1;
    uint32_t shift = 0;

    /// `size` is from 1 to 2^31 - 1.
    [[nodiscard]] static FastSize of(int64_t n) {
        const auto size = static_cast<uint32_t>(n);
        const auto shift = static_cast<uint32_t>(std::bit_width(size - 1));
        const uint64_t excess = (uint64_t{1} << shift) - size;
        return {size, static_cast<uint32_t>((excess << 32) / size + 1), shift};
    }
    DIOPI_HOST_DEVICE int32_t quotient(int32_t n) const {
        const auto dividend = static_cast<uint32_t>(n);
        const auto high = static_cast<uint32_t>((uint64_t{dividend} * multiplier) >> 32);
        return static_cast<int32_t>((high + dividend) >> shift);
    }
    DIOPI_HOST_DEVICE int32_t value() const { return static_cast<int32_t>(size); }
};

/// The same interface for sizes of any number of bits.
struct WideSize {
    int64_t size = 1;

    [[nodiscard]] static WideSize of(int64_t n) { return {n}; }
    DIOPI_HOST_DEVICE int64_t quotient(int64_t n) const { return n / size; }
    DIOPI_HOST_DEVICE int64_t value() const { return size; }
};

/// Converts the row-major number of an element to its place in each operand. Index is int32_t or int64_t; places and
/// strides count elements. Kernels take it as an argument.
template <class Index, int kOperands>
struct Walk {
    using Size = std::conditional_t<std::is_same_v<Index, int32_t>, FastSize, WideSize>;

    int rank = 1;
    Size sizes[kMaxRank];
    Index strides[kOperands][kMaxRank];

    /// Sets places[k] for element n, which is below the product of the sizes. Rank 1 needs no division.
    DIOPI_HOST_DEVICE void find(Index n, Index (&places)[kOperands]) const {
        for (int k = 0; k < kOperands; ++k) places[k] = 0;
        for (int d = rank - 1; d > 0; --d) {
            const Index rest = sizes[d].quotient(n);
            const Index at = n - rest * sizes[d].value();
            for (int k = 0; k < kOperands; ++k) places[k] += at * strides[k][d];
            n = rest;
        }
        for (int k = 0; k < kOperands; ++k) places[k] += n * strides[k][0];
    }
};

}  // namespace diopi::cuda
