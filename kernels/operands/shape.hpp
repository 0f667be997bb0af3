/// The arguments of functions that move elements or write constants, checked. Shared by the backends cpu and cuda.
#pragma once

#include <span>
#include <string_view>

#include "kernels/operands/view.hpp"

namespace diopi::operands {

/// torch.cat passes over tensors of shape (0,), whatever the others' rank.
[[nodiscard]] inline bool is_passed_over(const View& v) { return v.rank() == 1 && v.shape[0] == 0; }

/// Refuses tensors that do not fill `out` side by side along `dim`, which then counts from the front. There is one
/// tensor or more.
[[nodiscard]] diopiError_t check_cat(std::string_view op, const View& out,
                                     std::span<const diopiConstTensorHandle_t> tensors, int64_t& dim);

/// `input` seen with some dimensions backwards.
struct Flipped {
    Shape strides;
    View view;  ///< with those strides: neither may be moved
};
/// Refuses an out of another shape, and dimensions that are not there or named twice.
[[nodiscard]] diopiError_t read_flip(std::string_view op, const View& out, const View& input, ShapeView dims,
                                     Flipped& flipped);

/// Refuses a source that does not broadcast to `to`.
[[nodiscard]] diopiError_t check_source(std::string_view op, const View& from, const View& to);

/// Refuses an input without matrices, and an out that is not like it.
[[nodiscard]] diopiError_t check_triangle(std::string_view op, const View& out, const View& input);

/// Refuses a step that does not lead from start to end, and an out of another size than the steps need.
[[nodiscard]] diopiError_t check_steps(std::string_view op, const View& out, const diopiScalar_t& start,
                                       const diopiScalar_t& end, const diopiScalar_t& step);

}  // namespace diopi::operands
