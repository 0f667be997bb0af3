/// The arguments of a C call as one type, whatever their C types.
#pragma once

#include <diopi/functions.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace diopi::torch_impl {

/// The row's ArgKind says which of the members counts.
struct Argument {
    const void* pointer = nullptr;  ///< a handle, an array, a text, a number that may be absent: null where it is
    int64_t integer = 0;
    double real = 0;
    diopiSize_t size{nullptr, 0};
    bool is_absent = false;

    Argument(const void* value) : pointer(value), is_absent(value == nullptr) {}
    Argument(diopiSize_t value) : size(value) {}
    Argument(const diopiSize_t* value) : is_absent(value == nullptr) {
        if (value != nullptr) size = *value;
    }
    template <class T>
    requires std::is_integral_v<T> || std::is_enum_v<T> Argument(T value) : integer(static_cast<int64_t>(value)) {}
    template <class T>
    requires std::is_floating_point_v<T> Argument(T value) : real(value) {}
};

/// The rows that the library has a function for.
[[nodiscard]] std::span<const size_t> entries();

/// Makes the call of the function with this index in the table.
diopiError_t call(size_t index, diopiContextHandle_t ctx, const Argument* arguments) noexcept;

}  // namespace diopi::torch_impl
