/// The helpers that every cpu family uses: the shared views, refusals and plans, copies, and loops over a nest.
#pragma once

#include <initializer_list>

#include "kernels/operands/nest.hpp"
#include "kernels/operands/promotion.hpp"
#include "kernels/operands/refusal.hpp"
#include "kernels/operands/view.hpp"

namespace diopi::cpu {

using namespace operands;

/// `from` itself when it is contiguous and of that dtype, else a contiguous copy converted to it.
[[nodiscard]] diopiError_t contiguous_as(diopiContextHandle_t ctx, const View& from, Dtype dtype, View& made);
[[nodiscard]] inline diopiError_t contiguous(diopiContextHandle_t ctx, const View& from, View& made) {
    return contiguous_as(ctx, from, from.dtype, made);
}
/// Copies `from` to `to` (its shape broadcasts, any strides, any dtype, no overlap), converted as in PyTorch: floating
/// to integer truncates, integers wrap, non-zero is true.
void copy(const View& from, const View& to);

/// Sets every element of a tensor of any strides and dtype, at most kMaxRank dimensions.
void fill(const View& tensor, diopiScalar_t number);
/// The same for several tensors, with a floating number; null is allowed.
void fill(std::initializer_list<diopiTensorHandle_t> tensors, double number);

/// Views of n elements, one behind the other, of dense tensors; they are valid as long as this.
struct DensePart {
    int64_t size, stride = 1;
    explicit DensePart(int64_t n) : size(n) {}
    /// Elements `first` to `first` + n of `whole`.
    [[nodiscard]] View of(const View& whole, int64_t first) const {
        View part = whole;
        part.shape = {&size, 1};
        part.strides = {&stride, 1};
        part.numel = size;
        part.data = whole.data + first * whole.item_size();
        return part;
    }
};

/// Calls visit(offsets) for each combination of the outer `rank - inner` dimensions; offsets[k] is the offset of
/// operand k, in elements. The visitor loops over the `inner` innermost dimensions itself. An empty nest is not
/// visited.
template <class Visit>
void for_each_outer(const Nest& nest, int inner, Visit&& visit) {
    for (int d = 0; d < nest.rank; ++d) {
        if (nest.sizes[static_cast<size_t>(d)] == 0) return;
    }
    std::array<int64_t, kMaxOperands> offsets{};
    std::array<int64_t, kMaxRank> index{};
    for (;;) {
        visit(offsets);
        int d = nest.rank - inner;
        for (;;) {
            if (--d < 0) return;
            const auto dim = static_cast<size_t>(d);
            const bool wraps = ++index[dim] == nest.sizes[dim];
            if (wraps) index[dim] = 0;
            for (size_t k = 0; k < static_cast<size_t>(nest.operands); ++k) {
                offsets[k] += nest.strides[k][dim] * (wraps ? 1 - nest.sizes[dim] : 1);
            }
            if (!wraps) break;
        }
    }
}

}  // namespace diopi::cpu
