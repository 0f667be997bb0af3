/// Functions of one real number, or of two (a gradient), element by element. A source has its formulas behind
/// kernels/cpu/unary-inl.hpp and the functions of this header, after HWY_ONCE, for the operators.
#pragma once

#include <array>

#include "kernels/cpu/half_values.hpp"
#include "kernels/operands/elementwise.hpp"

namespace diopi::cpu {

/// One function on tiles, of the best instruction set of this machine.
struct RealTiles {
    TileFunction float32, float64;
    TileFunction bfloat16 = nullptr;  ///< null: tiles of bfloat16 are converted

    /// The operator in float32, or in float64.
    [[nodiscard]] TileOp in(bool is_narrow, const void* state = nullptr) const {
        if (!is_narrow) return {Dtype::float64, float64, state};
        return {Dtype::float32, float32, state, Loop::transcendental, bfloat16};
    }
};

/// out = F of one or two inputs of its shape; integers and bool compute in float64. Results are floating numbers.
template <class F, size_t kIns>
diopiError_t map_real(diopiContextHandle_t ctx, std::string_view op, const View& out,
                      const std::array<View, kIns>& ins) {
    bool is_narrow = false;
    if (const diopiError_t error = read_real_function(op, out, ins, is_narrow); error != diopiSuccess) return error;
    return for_each_tile(ctx, op, {&out, 1}, ins, F::tiles().in(is_narrow));
}

/// Whether a formula takes less time than a look-up of its value.
template <class F>
constexpr bool kIsQuick = false;

/// A forward function or an in-place one, which has out == input.
template <class F>
diopiError_t map_unary(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input) {
    const View y = view(out), x = view(input);
    if (const diopiError_t error = check_shape(op, "out", y, x.shape); error != diopiSuccess) return error;
    if constexpr (!kIsQuick<F>) {
        constinit static HalfValues of_float16, of_bfloat16;
        if (is_half(x.dtype) && x.dtype == y.dtype) {
            HalfValues& values = x.dtype == Dtype::float16 ? of_float16 : of_bfloat16;
            const TileOp tile_op = values.instead_of(F::tiles().in(true), x.dtype, x.numel);
            return for_each_tile(ctx, op, {&y, 1}, {&x, 1}, tile_op);
        }
    }
    return map_real<F>(ctx, op, y, std::array{x});
}

/// grad_input = F(grad_output, saved): saved is the forward input or output.
template <class F>
diopiError_t map_gradient(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                          diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t saved) {
    const View gx = view(grad_input), g = view(grad_output), x = view(saved);
    if (const diopiError_t error = check_gradient(op, gx, g, x); error != diopiSuccess) return error;
    return map_real<F>(ctx, op, gx, std::array{g, x});
}

}  // namespace diopi::cpu
