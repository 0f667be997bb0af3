/// Scratch memory that the caller of a function lends, after the function has told its size. Shared by the backends cpu
/// and cuda.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/operands/view.hpp"

namespace diopi::operands {

/// Whether the caller only asks for the size, by a negative number, in whose place `wanted` is stored.
[[nodiscard]] inline bool asks_for_size(int64_t& bytes, int64_t wanted) {
    if (bytes >= 0) return false;
    bytes = wanted;
    return true;
}

/// Memory for vectors begins at such addresses. A workspace may begin anywhere: it has so many bytes more than it
/// needs.
inline constexpr int64_t kWorkspaceAlignment = 64;
template <class T>
[[nodiscard]] T* aligned(std::byte* memory) {
    const auto address = reinterpret_cast<uintptr_t>(memory);
    return reinterpret_cast<T*>((address + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment);
}

/// The address of a workspace; null where none is wanted. Refuses one with fewer bytes than wanted, by the number that
/// the caller states or by its tensor, and one with gaps.
[[nodiscard]] diopiError_t read_workspace(std::string_view op, std::string_view argument, diopiTensorHandle_t workspace,
                                          int64_t bytes, int64_t wanted, std::byte*& memory);

}  // namespace diopi::operands
