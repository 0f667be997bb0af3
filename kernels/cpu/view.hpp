/// A tensor as a cpu kernel sees it: read once through the C ABI, then plain data. Errors, workspace, copies and loop
/// nests that every family needs.
#pragma once

#include <diopi/diopirt.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "core/dtype.hpp"
#include "core/shape.hpp"

namespace diopi::cpu {

/// Borrows from the tensor's handle; valid as long as the handle is. Strides count elements; tfloat32 reads as float32.
/// The kernel knows from the argument's role whether it may write.
struct View {
    std::byte* data = nullptr;  ///< first element; null for an empty tensor
    Dtype dtype = Dtype::float32;
    ShapeView shape;
    ShapeView strides;
    int64_t numel = 0;
    bool contiguous = true;  ///< row-major

    template <class T>
    [[nodiscard]] T* as() const {
        return reinterpret_cast<T*>(data);
    }
    [[nodiscard]] int64_t rank() const { return static_cast<int64_t>(shape.size()); }
    [[nodiscard]] int64_t item_size() const { return static_cast<int64_t>(size_of(dtype)); }
};

[[nodiscard]] View view(diopiConstTensorHandle_t tensor);
/// A 0-dim view of one element.
[[nodiscard]] inline View element(void* data, Dtype dtype) {
    View v;
    v.data = static_cast<std::byte*>(data);
    v.dtype = dtype;
    v.numel = 1;
    return v;
}
/// The number as a float64 or int64 element.
[[nodiscard]] inline View element(diopiScalar_t& number) {
    return is_floating(from_c(number.stype)) ? element(&number.fval, Dtype::float64)
                                             : element(&number.ival, Dtype::int64);
}

/// A number whatever its kind; a bool is 0 or 1.
[[nodiscard]] inline double number_of(const diopiScalar_t& scalar) {
    return is_floating(from_c(scalar.stype)) ? scalar.fval : static_cast<double>(scalar.ival);
}

/// Sets the message of the thread's last error and returns `code`.
[[nodiscard]] diopiError_t fail(diopiError_t code, std::string message);
/// diopiDtypeNotSupported: "diopiRelu: input is complex64, wanted a real dtype".
[[nodiscard]] diopiError_t unsupported(std::string_view op, std::string_view argument, Dtype came,
                                       std::string_view wanted);
/// diopiErrorOccurred: "diopiAdd: out has shape (2, 3), wanted (2, 4)".
[[nodiscard]] diopiError_t wrong_shape(std::string_view op, std::string_view argument, ShapeView came,
                                       std::string_view wanted);

/// A contiguous tensor owned by the context for the rest of the call; contents undefined.
[[nodiscard]] diopiError_t require(diopiContextHandle_t ctx, ShapeView shape, Dtype dtype, View& made);
/// `from` itself when it is contiguous and of that dtype, else a contiguous copy converted to it.
[[nodiscard]] diopiError_t contiguous_as(diopiContextHandle_t ctx, const View& from, Dtype dtype, View& made);
[[nodiscard]] inline diopiError_t contiguous(diopiContextHandle_t ctx, const View& from, View& made) {
    return contiguous_as(ctx, from, from.dtype, made);
}
/// Copies to every element of `to` what `from` has there (its shape broadcasts, any strides, any dtype, no overlap),
/// converted as PyTorch does: floating to integer truncates, integers wrap, non-zero is true.
void copy(const View& from, const View& to);

constexpr int kMaxRank = 16;
constexpr int kMaxOperands = 6;

/// Strides of `operand` when broadcast to `shape`, which must be possible: 0 where it repeats.
[[nodiscard]] std::array<int64_t, kMaxRank> broadcast_strides(const View& operand, ShapeView shape);

/// Loops over the elements of several operands at once, outermost first, with as few dimensions as possible.
/// rank >= 1 and the last dimension is the innermost; strides count elements.
struct LoopNest {
    int rank = 0;
    int operands = 0;
    std::array<int64_t, kMaxRank> sizes{};
    std::array<std::array<int64_t, kMaxRank>, kMaxOperands> strides{};

    [[nodiscard]] int64_t inner_size() const { return sizes[static_cast<size_t>(rank - 1)]; }
    [[nodiscard]] int64_t inner_stride(int operand) const {
        return strides[static_cast<size_t>(operand)][static_cast<size_t>(rank - 1)];
    }
};

/// The nest over `shape` (rank <= kMaxRank) with one stride array per operand, as from broadcast_strides. Dimensions of
/// size 1 go, the rest is ordered by falling stride (operand 0 decides, ties go to the next), and neighbours that are
/// one run for every operand are merged.
[[nodiscard]] LoopNest loop_nest(ShapeView shape, std::initializer_list<const int64_t*> strides);
[[nodiscard]] LoopNest loop_nest(ShapeView shape, const int64_t* const* strides, int operands);

/// Calls visit(offsets) for each combination of the outer `rank - inner` dimensions; offsets[k] is where operand k
/// stands, in elements. The visitor walks the `inner` innermost dimensions itself. An empty nest is not visited.
template <class Visit>
void for_each_outer(const LoopNest& nest, int inner, Visit&& visit) {
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
