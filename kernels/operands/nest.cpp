#include "kernels/operands/nest.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

namespace diopi::operands {

namespace {

/// Whether dimension `a` is inside dimension `b`: operand 0 decides, then the next ones.
bool belongs_inside(const Nest& nest, size_t a, size_t b) {
    for (size_t k = 0; k < static_cast<size_t>(nest.operands); ++k) {
        const int64_t stride_a = std::abs(nest.strides[k][a]), stride_b = std::abs(nest.strides[k][b]);
        if (stride_a != 0 && stride_b != 0 && stride_a != stride_b) return stride_a < stride_b;
    }
    return false;
}

void swap_dims(Nest& nest, size_t a, size_t b) {
    std::swap(nest.sizes[a], nest.sizes[b]);
    for (size_t k = 0; k < static_cast<size_t>(nest.operands); ++k) std::swap(nest.strides[k][a], nest.strides[k][b]);
}

void copy_dim(Nest& nest, size_t from, size_t to) {
    nest.sizes[to] = nest.sizes[from];
    for (size_t k = 0; k < static_cast<size_t>(nest.operands); ++k) nest.strides[k][to] = nest.strides[k][from];
}

/// Whether dimension `outer` followed by `inner` is one run for every operand.
bool is_one_run(const Nest& nest, size_t outer, size_t inner) {
    for (size_t k = 0; k < static_cast<size_t>(nest.operands); ++k) {
        if (nest.strides[k][outer] != nest.strides[k][inner] * nest.sizes[inner]) return false;
    }
    return true;
}

/// Sorts the dimensions that are not of size 1; returns their number.
size_t collect(Nest& nest, ShapeView shape, std::span<const int64_t* const> strides) {
    size_t rank = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
        if (shape[d] == 1) continue;
        nest.sizes[rank] = shape[d];
        for (size_t k = 0; k < strides.size(); ++k) nest.strides[k][rank] = strides[k][d];
        for (size_t i = rank; i > 0 && belongs_inside(nest, i - 1, i); --i) swap_dims(nest, i - 1, i);
        ++rank;
    }
    return rank;
}

}  // namespace

bool Nest::is_run() const {
    if (rank != 1) return false;
    if (sizes[0] == 1) return true;
    if (strides[0][0] != 1) return false;
    return std::all_of(strides.begin(), strides.begin() + operands,
                       [](const auto& each) { return each[0] == 0 || each[0] == 1; });
}

bool Nest::fits_32_bits() const {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    if (numel > kMost) return false;
    for (size_t k = 0; k < static_cast<size_t>(operands); ++k) {
        // Places have both signs: the sum of each sign must fit by itself.
        int64_t below = 0, above = 0;
        for (size_t d = 0; d < static_cast<size_t>(rank); ++d) {
            const int64_t span = (sizes[d] - 1) * strides[k][d];
            (span < 0 ? below : above) += std::abs(span);
        }
        if (std::max(below, above) > kMost) return false;
    }
    return true;
}

Nest make_nest(ShapeView shape, std::span<const int64_t* const> strides) {
    Nest nest;
    nest.operands = static_cast<int>(strides.size());
    nest.numel = numel(shape);
    const size_t rank = collect(nest, shape, strides);
    size_t last = 0;
    for (size_t d = 1; d < rank; ++d) {
        if (is_one_run(nest, last, d)) {
            const int64_t outer = nest.sizes[last];
            copy_dim(nest, d, last);
            nest.sizes[last] *= outer;
        } else {
            copy_dim(nest, d, ++last);
        }
    }
    if (rank == 0) nest.sizes[0] = 1;
    nest.rank = static_cast<int>(last + 1);
    return nest;
}

Nest make_nest(std::span<const View> operands) {
    const ShapeView shape = operands[0].shape;
    std::array<std::array<int64_t, kMaxRank>, kMaxOperands> strides;
    std::array<const int64_t*, kMaxOperands> pointers;
    for (size_t k = 0; k < operands.size(); ++k) {
        strides[k] = broadcast_strides(operands[k], shape);
        pointers[k] = strides[k].data();
    }
    return make_nest(shape, std::span(pointers.data(), operands.size()));
}

}  // namespace diopi::operands
