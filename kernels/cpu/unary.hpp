/// Functions of one real number, element by element. A function F defines
///
///     static double one(double x);      one number, for float64 and integers
///     static __m256d four(__m256d x);   four numbers, for float32 and the half types; default: `one` on each
///
/// A function of two numbers (a gradient) takes two arguments instead.
#pragma once

#include <array>

#include "kernels/cpu/tile.hpp"
#include "kernels/cpu/vector_math.hpp"
#include "kernels/operands/elementwise.hpp"

namespace diopi::cpu {

namespace unary_detail {

template <class F>
concept HasFour = requires {
    &F::four;
};

template <class F>
[[nodiscard]] inline __m256d four_of(__m256d x) {
    if constexpr (HasFour<F>)
        return F::four(x);
    else
        return each(x, F::one);
}
template <class F>
[[nodiscard]] inline __m256d four_of(__m256d x, __m256d y) {
    if constexpr (HasFour<F>) {
        return F::four(x, y);
    } else {
        alignas(32) double lanes[4], others[4];
        store(lanes, x);
        store(others, y);
        for (int i = 0; i < 4; ++i) lanes[i] = F::one(lanes[i], others[i]);
        return load(lanes);
    }
}

/// The first `n` <= 4 of four float32 numbers; the others are 1, which is valid for every function.
[[nodiscard]] inline __m256d widen(const float* p, int64_t n) {
    if (n >= 4) return _mm256_cvtps_pd(_mm_loadu_ps(p));
    alignas(16) float lanes[4] = {1, 1, 1, 1};
    for (int64_t i = 0; i < n; ++i) lanes[i] = p[i];
    return _mm256_cvtps_pd(_mm_load_ps(lanes));
}
inline void narrow(__m256d x, float* p, int64_t n) {
    const __m128 y = _mm256_cvtpd_ps(x);
    if (n >= 4) {
        _mm_storeu_ps(p, y);
        return;
    }
    alignas(16) float lanes[4];
    _mm_store_ps(lanes, y);
    for (int64_t i = 0; i < n; ++i) p[i] = lanes[i];
}

template <class F, size_t kIns>
void float_tile(void* const* out, const void* const* in, int64_t n, void*) {
    float* o = static_cast<float*>(out[0]);
    const float* a = static_cast<const float*>(in[0]);
    for (int64_t i = 0; i < n; i += 4) {
        const __m256d x = widen(a + i, n - i);
        if constexpr (kIns == 1)
            narrow(four_of<F>(x), o + i, n - i);
        else
            narrow(four_of<F>(x, widen(static_cast<const float*>(in[1]) + i, n - i)), o + i, n - i);
    }
}

template <class F, size_t kIns>
void double_tile(void* const* out, const void* const* in, int64_t n, void*) {
    double* o = static_cast<double*>(out[0]);
    const double* a = static_cast<const double*>(in[0]);
    for (int64_t i = 0; i < n; ++i) {
        if constexpr (kIns == 1)
            o[i] = F::one(a[i]);
        else
            o[i] = F::one(a[i], static_cast<const double*>(in[1])[i]);
    }
}

}  // namespace unary_detail

/// out = F of one or two inputs of its shape; integers and bool compute in float64. Results are floating numbers.
template <class F, size_t kIns>
diopiError_t map_real(diopiContextHandle_t ctx, std::string_view op, const View& out,
                      const std::array<View, kIns>& ins) {
    bool is_narrow = false;
    if (const diopiError_t error = read_real_function(op, out, ins, is_narrow); error != diopiSuccess) return error;
    if (is_narrow) {
        return for_each_tile(ctx, op, {&out, 1}, ins, {Dtype::float32, unary_detail::float_tile<F, kIns>});
    }
    return for_each_tile(ctx, op, {&out, 1}, ins, {Dtype::float64, unary_detail::double_tile<F, kIns>});
}

/// A forward function or an in-place one, which has out == input.
template <class F>
diopiError_t map_unary(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input) {
    const View y = view(out), x = view(input);
    if (const diopiError_t error = check_shape(op, "out", y, x.shape); error != diopiSuccess) return error;
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
