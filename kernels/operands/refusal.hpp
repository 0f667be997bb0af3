/// Errors of calls: their messages, and the checks of shapes and layouts that every family needs. Shared by the
/// backends cpu and cuda. An `op` is the name of the called C function.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kernels/operands/view.hpp"

namespace diopi::operands {

/// Sets the message of the thread's last error and returns `code`.
[[nodiscard]] diopiError_t fail(diopiError_t code, std::string message);
/// Clears the message, because another way to do the same follows.
void forget_failure();
/// diopiErrorOccurred: "diopiSum: dim names dimension 1 twice".
[[nodiscard]] diopiError_t refuse(std::string_view op, std::string_view what);
/// diopiDtypeNotSupported: "diopiRelu: input is complex64, wanted a real dtype".
[[nodiscard]] diopiError_t unsupported(std::string_view op, std::string_view argument, Dtype came,
                                       std::string_view wanted);
/// diopiErrorOccurred: "diopiAdd: out has shape (2, 3), wanted (2, 4)".
[[nodiscard]] diopiError_t wrong_shape(std::string_view op, std::string_view argument, ShapeView came,
                                       std::string_view wanted);

/// diopiErrorOccurred: "diopiFusedAdamW: grads holds null at 2".
[[nodiscard]] diopiError_t null_in_list(std::string_view op, std::string_view argument, int64_t position);

/// Refuses a tensor of another shape.
[[nodiscard]] diopiError_t check_shape(std::string_view op, std::string_view argument, const View& v, ShapeView wanted);
/// The same for a tensor that may be null.
[[nodiscard]] diopiError_t check_shape_or_null(std::string_view op, std::string_view argument,
                                               diopiConstTensorHandle_t tensor, ShapeView wanted);
/// Refuses more than kMaxRank dimensions.
[[nodiscard]] diopiError_t check_rank(std::string_view op, std::string_view argument, const View& v);
/// Refuses dtypes other than float16, bfloat16, float32 and float64.
[[nodiscard]] diopiError_t check_computable(std::string_view op, std::string_view argument, const View& v);

/// Whether a tensor of `shape` broadcasts to `target`.
[[nodiscard]] bool broadcasts_to(ShapeView shape, ShapeView target);
/// Whether several elements have one place in memory.
[[nodiscard]] bool repeats_elements(const View& v);
/// Refuses too many dimensions, outputs that differ in shape or repeat elements, and inputs that do not broadcast to
/// the outputs' shape. There is at least one output.
[[nodiscard]] diopiError_t check_views(std::string_view op, std::span<const View> outs, std::span<const View> ins);
[[nodiscard]] inline diopiError_t check_views(std::string_view op, const View& out, std::span<const View> ins) {
    return check_views(op, {&out, 1}, ins);
}

}  // namespace diopi::operands
