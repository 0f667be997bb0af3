/// The data of a tensor for the host code of a kernel, read once through the C ABI. Shared by the backends cpu and
/// cuda.
#pragma once

#include <diopi/diopirt.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/dtype.hpp"
#include "core/shape.hpp"

namespace diopi::operands {

constexpr int kMaxRank = 16;

/// Borrows from the tensor's handle; valid as long as the handle is. Strides count elements; tfloat32 reads as float32.
/// `data` is in the backend's memory. The kernel knows from the argument's role whether it may write.
struct View {
    std::byte* data = nullptr;  ///< first element; null for an empty tensor
    Dtype dtype = Dtype::float32;
    ShapeView shape;
    ShapeView strides;
    int64_t numel = 0;

    template <class T>
    [[nodiscard]] T* as() const {
        return reinterpret_cast<T*>(data);
    }
    [[nodiscard]] int64_t rank() const { return static_cast<int64_t>(shape.size()); }
    [[nodiscard]] int64_t item_size() const { return static_cast<int64_t>(size_of(dtype)); }
    /// Whether it is dense and row-major.
    [[nodiscard]] bool is_contiguous() const { return diopi::is_contiguous(shape, strides); }
};

[[nodiscard]] View view(diopiConstTensorHandle_t tensor);
/// The numbers of a list that the C ABI passes by value.
[[nodiscard]] inline ShapeView list_of(diopiSize_t list) { return {list.data, static_cast<size_t>(list.len)}; }

/// A 0-dim view of one element.
[[nodiscard]] View element(void* data, Dtype dtype);
/// The number as a float64 or int64 element.
[[nodiscard]] inline View element(diopiScalar_t& number) {
    return is_floating(from_c(number.stype)) ? element(&number.fval, Dtype::float64)
                                             : element(&number.ival, Dtype::int64);
}
/// A number instead of a tensor, which a kernel gets as an argument. 0-dim, without data.
[[nodiscard]] inline View number_view(Dtype dtype) { return element(nullptr, dtype); }

/// Strides of `operand` when broadcast to `shape`, which must be possible: 0 where it repeats.
[[nodiscard]] std::array<int64_t, kMaxRank> broadcast_strides(const View& operand, ShapeView shape);

/// Whether the bytes that one view spans are also spanned by the other.
[[nodiscard]] bool overlap(const View& a, const View& b);
/// Whether each element of `a` is at the same address as that of `b`.
[[nodiscard]] bool same_view(const View& a, const View& b);
/// Whether loops that write `out` could change elements of `in` that they have not read yet: both share memory, but not
/// element by element.
[[nodiscard]] inline bool aliases_differently(const View& out, const View& in) {
    return overlap(out, in) && !same_view(out, in);
}

/// float16, bfloat16, float32 or float64: products, norms and losses compute in float or double, which hold all of
/// these.
[[nodiscard]] inline bool is_computable(Dtype dtype) {
    return is_half(dtype) || dtype == Dtype::float32 || dtype == Dtype::float64;
}

/// A contiguous tensor owned by the context for the rest of the call; contents undefined.
[[nodiscard]] diopiError_t require(diopiContextHandle_t ctx, ShapeView shape, Dtype dtype, View& made);
/// `out` itself where it is contiguous, else such a tensor of its shape and dtype.
[[nodiscard]] diopiError_t require_dense(diopiContextHandle_t ctx, const View& out, View& dense);

}  // namespace diopi::operands
