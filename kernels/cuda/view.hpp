/// A tensor as a cuda kernel's host side sees it: read once through the C ABI, then plain data. Errors, workspace.
#pragma once

#include <diopi/diopirt.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/dtype.hpp"
#include "core/shape.hpp"

namespace diopi::cuda {

/// Borrows from the tensor's handle. Strides count elements; tfloat32 reads as float32. `data` is in the device's
/// memory: never to be touched by the host.
struct View {
    std::byte* data = nullptr;  ///< first element; null for an empty tensor
    Dtype dtype = Dtype::float32;
    ShapeView shape;
    ShapeView strides;
    int64_t numel = 0;

    [[nodiscard]] int64_t item_size() const { return static_cast<int64_t>(size_of(dtype)); }
};

[[nodiscard]] View view(diopiConstTensorHandle_t tensor);

/// float16, bfloat16, float32 or float64: what float and double, in which products, softmax and norms compute, hold all
/// of.
[[nodiscard]] inline bool is_computable(Dtype dtype) {
    return is_half(dtype) || dtype == Dtype::float32 || dtype == Dtype::float64;
}

/// In the place of a tensor: a number, which a kernel gets as its argument. 0-dim, without data.
[[nodiscard]] View number_view(Dtype dtype);

/// Sets the message of the thread's last error and returns `code`.
[[nodiscard]] diopiError_t fail(diopiError_t code, std::string message);
/// diopiDtypeNotSupported: "diopiRelu: input is complex64, wanted a real dtype".
[[nodiscard]] diopiError_t unsupported(std::string_view op, std::string_view argument, Dtype came,
                                       std::string_view wanted);
/// diopiErrorOccurred: "diopiAdd: out has shape (2, 3), wanted (2, 4)".
[[nodiscard]] diopiError_t wrong_shape(std::string_view op, std::string_view argument, ShapeView came,
                                       std::string_view wanted);
/// Refuses a gradient of another shape than what it belongs to.
[[nodiscard]] diopiError_t check_gradient(std::string_view op, std::string_view argument, const View& gradient,
                                          const View& of);

/// A contiguous tensor owned by the context for the rest of the call; contents undefined.
[[nodiscard]] diopiError_t require(diopiContextHandle_t ctx, ShapeView shape, Dtype dtype, View& made);

/// The number in a compute type; integers wrap, a floating number for integers truncates, all but 0 is true.
template <class T>
[[nodiscard]] T number(const diopiScalar_t& scalar) {
    if (is_floating(from_c(scalar.stype))) {
        if constexpr (std::is_same_v<T, bool>) return scalar.fval != 0;
        if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<int64_t>(scalar.fval));
        return static_cast<T>(scalar.fval);
    }
    return static_cast<T>(scalar.ival);
}

}  // namespace diopi::cuda
