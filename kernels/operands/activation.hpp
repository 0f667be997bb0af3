/// The arguments of activations, read and checked. Shared by the backends cpu and cuda.
#pragma once

#include <string_view>

#include "kernels/operands/view.hpp"

namespace diopi::operands {

/// Whether gelu is asked for by its approximation with tanh; null means "none". Refuses another word.
[[nodiscard]] diopiError_t read_gelu_form(std::string_view op, const char* approximate, bool& is_tanh);
/// Calls the form of gelu, or of its gradient, that is asked for.
template <auto kExact, auto kTanh, class... Tensors>
[[nodiscard]] diopiError_t run_gelu_form(diopiContextHandle_t ctx, std::string_view op, const char* approximate,
                                         Tensors... tensors) {
    bool is_tanh = false;
    if (const diopiError_t error = read_gelu_form(op, approximate, is_tanh); error != diopiSuccess) return error;
    return (is_tanh ? kTanh : kExact)(ctx, op, tensors...);
}

/// Softmax along `dim` of `x`, which is read, into `out`; dim then counts from the front. Refuses dtypes that are not
/// floating, too many dimensions, an out of another shape, and a dim that x does not have.
[[nodiscard]] diopiError_t read_softmax(std::string_view op, const View& x, const View& out, int64_t& dim);
/// The same for the gradient: `output` is the forward function's.
[[nodiscard]] diopiError_t read_softmax_gradient(std::string_view op, const View& grad_output, const View& output,
                                                 const View& grad_input, int64_t& dim);

/// An integer or floating dtype, whose numbers are ordered.
[[nodiscard]] inline bool is_ordered_number(Dtype dtype) { return !is_complex(dtype) && dtype != Dtype::boolean; }

/// The limit of threshold in the dtype of its input, as PyTorch converts it: below 0 it wraps in an unsigned dtype.
[[nodiscard]] diopiScalar_t threshold_in(Dtype dtype, const diopiScalar_t& threshold);

}  // namespace diopi::operands
