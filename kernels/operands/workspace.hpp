/// Scratch memory that the caller of a function lends, after the function has told its size. Shared by the backends cpu
/// and cuda.
#pragma once

#include <string_view>

#include "kernels/operands/view.hpp"

namespace diopi::operands {

/// Whether the caller only asks for the size, by a negative number, in whose place `wanted` is stored.
[[nodiscard]] inline bool asks_for_size(int64_t& bytes, int64_t wanted) {
    if (bytes >= 0) return false;
    bytes = wanted;
    return true;
}

/// The address of a workspace; null where none is wanted. Refuses one with fewer bytes than wanted, by the number that
/// the caller states or by its tensor, and one with gaps.
[[nodiscard]] diopiError_t read_workspace(std::string_view op, std::string_view argument, diopiTensorHandle_t workspace,
                                          int64_t bytes, int64_t wanted, std::byte*& memory);

}  // namespace diopi::operands
