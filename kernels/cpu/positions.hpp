/// Index tensors in host memory: checked, dense and counted from the front. Kernels that use one need no more checks.
#pragma once

#include <span>
#include <string_view>

#include "kernels/cpu/view.hpp"

namespace diopi::cpu {

/// The numbers of an index, all of them places of a dim of `size`.
using Positions = std::span<const int64_t>;

/// Negative numbers count from the end, or are refused.
enum class Negative : uint8_t { refused, from_end };

/// The numbers of an index, dense and not checked yet.
[[nodiscard]] diopiError_t read_numbers(diopiContextHandle_t ctx, const View& index, Positions& numbers);
/// Whether all of them are places of a dim of `size`, counted from the front.
[[nodiscard]] bool are_places(Positions numbers, int64_t size);
/// Refuses numbers of which at least one is no place.
[[nodiscard]] diopiError_t refuse_places(std::string_view op, Positions numbers, int64_t size);

[[nodiscard]] diopiError_t read_positions(diopiContextHandle_t ctx, std::string_view op, const View& index,
                                          int64_t size, Negative negative, Positions& positions);
/// Workspace for `count` places.
[[nodiscard]] diopiError_t require_places(diopiContextHandle_t ctx, int64_t count, int64_t*& places);

}  // namespace diopi::cpu
