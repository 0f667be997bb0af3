/// The arguments of element-wise operators, read and checked. Shared by the backends cpu and cuda.
#pragma once

#include <span>
#include <string_view>

#include "kernels/operands/promotion.hpp"

namespace diopi::operands {

/// The second operand, as a C function takes it: a tensor or a number. Both convert to it (entries.hpp: BINARY).
struct Other {
    Other(diopiConstTensorHandle_t of_tensor) : tensor(of_tensor) {}
    Other(const diopiScalar_t* of_number) : number(of_number) {}

    diopiConstTensorHandle_t tensor = nullptr;
    const diopiScalar_t* number = nullptr;
};
[[nodiscard]] Operands operands_of(diopiConstTensorHandle_t out, diopiConstTensorHandle_t input, const Other& other);

/// Whether an out of dtype `out` would show that integers of dtype `result` were computed in a wider type, in which
/// they do not wrap: PyTorch computes in the promoted dtype of the inputs, and then converts to out's.
[[nodiscard]] bool shows_wrapping(Dtype result, Dtype out);

/// The factor of input + alpha * other: alpha, or 1 where it is null. Refuses what check_any_operands does, and a
/// fraction for integers.
[[nodiscard]] diopiError_t read_sum(std::string_view op, const Operands& x, const diopiScalar_t* alpha,
                                    diopiScalar_t& factor);
/// The same for input - alpha * other: the factor is negative. Refuses bool, too.
[[nodiscard]] diopiError_t read_difference(std::string_view op, const Operands& x, const diopiScalar_t* alpha,
                                           diopiScalar_t& factor);
/// The operands of clamp; a number's view has no data.
struct Bounds {
    View out, input, min, max;
    bool has_min = false, has_max = false;
    diopiScalar_t least{}, most{};  ///< the numbers, as elements of dtype `result`
    Dtype result = Dtype::float32;
};
/// Refuses two absent bounds, shapes that do not broadcast to out's, and complex numbers. Reads integer
/// tensors as wrap_operands does.
[[nodiscard]] diopiError_t read_bounds(std::string_view op, const Other& min, const Other& max, Bounds& x);
/// Reads a number, and an integer tensor without dimensions, in the dtype of an integer result: its low bits.
/// Sums and products do not need it, because their low bits are those of any wider computation. Refuses a signed one
/// beside a wider dtype without a sign. Source: torch.result_type.
[[nodiscard]] diopiError_t wrap_operands(std::string_view op, Operands& x);
/// The operands of maximum and minimum. Refuses what check_any_operands and wrap_operands do, and complex numbers.
[[nodiscard]] diopiError_t read_ordered(std::string_view op, Operands& x);
/// The operands of a remainder, whose divisor is `other`. Refuses what check_any_operands and wrap_operands do, bool
/// and complex numbers.
[[nodiscard]] diopiError_t read_remainder(std::string_view op, Operands& x);
/// input + weight (end - input) of floating tensors of one dtype category: the dtype of the result.
[[nodiscard]] diopiError_t check_lerp(std::string_view op, std::span<const View> ins, Dtype& result);
/// The operands of a comparison or of logic: all dtypes, and an out of any dtype. Refuses what wrap_operands does, and
/// an out of another shape.
[[nodiscard]] diopiError_t read_comparison(std::string_view op, Operands& x);
/// Refuses what check_any_operands does, and floating and complex numbers.
[[nodiscard]] diopiError_t check_bits(std::string_view op, const Operands& x);
[[nodiscard]] diopiError_t check_bits(std::string_view op, Dtype result);
/// A quotient that is not rounded becomes a floating number: the result of integers is float32. Refuses what
/// check_any_operands and, for rounded ones, wrap_operands do, and rounded quotients of complex numbers and of bool.
[[nodiscard]] diopiError_t read_quotient(std::string_view op, diopiRoundMode_t mode, Operands& x);
/// Refuses what check_any_operands and wrap_operands do, complex and bool results, and a number below 0 as the exponent
/// of integers. `reversed`: the number is the base.
[[nodiscard]] diopiError_t read_power(std::string_view op, Operands& x, bool reversed);
/// The dtype of input + value * tensor1 * tensor2, or of value * tensor1 / tensor2, which is for floating dtypes only.
[[nodiscard]] diopiError_t read_scaled_term(std::string_view op, std::span<const View> ins, bool divides,
                                            Dtype& result);
/// Refuses bool, and an out of another shape.
[[nodiscard]] diopiError_t check_negation(std::string_view op, const View& out, const View& input);

/// Functions of real numbers, whose results are floating numbers. Refuses complex inputs and an out of another kind.
/// is_narrow: no operand needs more than float32.
[[nodiscard]] diopiError_t read_real_function(std::string_view op, const View& out, std::span<const View> ins,
                                              bool& is_narrow);
/// Refuses a gradient of another shape than `saved`, the forward function's input or output.
[[nodiscard]] diopiError_t check_gradient(std::string_view op, const View& grad_input, const View& grad_output,
                                          const View& saved);

}  // namespace diopi::operands
