/// Numbers and dtypes: the operands of a call with two (two tensors, or a tensor and a number), and the dtype of their
/// result. Shared by the backends cpu and cuda.
#pragma once

#include <string_view>
#include <type_traits>

#include "kernels/operands/view.hpp"

namespace diopi::operands {

/// The number in an arithmetic type: integers wrap, floating numbers truncate to integers, non-zero is true.
template <class T>
[[nodiscard]] T number(const diopiScalar_t& scalar) {
    if (is_floating(from_c(scalar.stype))) {
        if constexpr (std::is_same_v<T, bool>) return scalar.fval != 0;
        if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<int64_t>(scalar.fval));
        return static_cast<T>(scalar.fval);
    }
    return static_cast<T>(scalar.ival);
}
[[nodiscard]] diopiScalar_t whole_number(int64_t value);
[[nodiscard]] diopiScalar_t real_number(double value);
/// Whether an int64 holds the number exactly.
[[nodiscard]] bool is_whole(const diopiScalar_t& scalar);
/// The number as an element of that dtype: rounded once, cut off, or a truth value.
[[nodiscard]] diopiScalar_t as_element(const diopiScalar_t& scalar, Dtype dtype);
/// A bound as an element of that dtype: a fraction for integers is cut off, and a bound beyond them is the last of
/// them.
[[nodiscard]] diopiScalar_t bound_as_element(const diopiScalar_t& bound, Dtype dtype);

/// 3 complex, 2 floating, 1 integer, 0 bool.
[[nodiscard]] int category(Dtype dtype);
/// Source: torch.result_type. A 0-dim tensor counts only if its category is higher.
[[nodiscard]] Dtype result_dtype(const View& a, const View& b);

/// The operands of a call: two tensors, or a tensor and a number; `other` is a number_view then.
struct Operands {
    View out, input, other;
    bool other_is_number = false;
    diopiScalar_t number{};
    Dtype result = Dtype::float32;  ///< the promoted dtype
};

[[nodiscard]] Operands with_tensor(diopiConstTensorHandle_t out, diopiConstTensorHandle_t input,
                                   diopiConstTensorHandle_t other);
[[nodiscard]] Operands with_number(diopiConstTensorHandle_t out, diopiConstTensorHandle_t input,
                                   const diopiScalar_t* other);

/// Refuses an out of another shape than the broadcast one.
[[nodiscard]] diopiError_t check_broadcast(std::string_view op, const Operands& x);
/// The same; refuses also an out of a dtype that cannot hold the result (torch.can_cast).
[[nodiscard]] diopiError_t check_any_operands(std::string_view op, const Operands& x);
/// Refuses complex input, bool input if `wants_number`, and an out of another shape.
[[nodiscard]] diopiError_t check_unary(std::string_view op, const View& out, const View& input, bool wants_number);

}  // namespace diopi::operands
