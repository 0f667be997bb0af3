/// The operands of a call with two: two tensors, or a tensor and a number, and the dtype of their result.
#pragma once

#include "kernels/cuda/view.hpp"

namespace diopi::cuda {

struct Operands {
    View out, input, other;
    bool other_is_number = false;
    diopiScalar_t number{};
    Dtype result = Dtype::float32;  ///< by the rules of promotion
};

/// 3 complex, 2 floating, 1 integer, 0 bool.
[[nodiscard]] int category(Dtype dtype);
/// Source: torch.result_type. A 0-dim tensor counts only if its category is higher.
[[nodiscard]] Dtype result_dtype(const View& a, const View& b);

[[nodiscard]] Operands with_tensor(diopiConstTensorHandle_t out, diopiConstTensorHandle_t input,
                                   diopiConstTensorHandle_t other);
[[nodiscard]] Operands with_number(diopiConstTensorHandle_t out, diopiConstTensorHandle_t input,
                                   const diopiScalar_t* other);
/// The number as an element of that dtype holds it: rounded once, cut off, or a truth value.
[[nodiscard]] diopiScalar_t as_element(const diopiScalar_t& number, Dtype dtype);
[[nodiscard]] diopiScalar_t whole_number(int64_t value);
[[nodiscard]] diopiScalar_t real_number(double value);

/// Refuses an out of another shape than the broadcast one, or of a dtype that cannot hold the result (torch.can_cast).
[[nodiscard]] diopiError_t check_any_operands(std::string_view op, const Operands& x);
/// The same for functions that take real numbers. Refuses complex operands, an out of another shape than the broadcast
/// one, or of a dtype that cannot hold the result (torch.can_cast).
[[nodiscard]] diopiError_t check_operands(std::string_view op, const Operands& x);
/// Refuses complex and bool input where `wants_number`, complex input else, and an out of another shape.
[[nodiscard]] diopiError_t check_unary(std::string_view op, const View& out, const View& input, bool wants_number);

}  // namespace diopi::cuda
