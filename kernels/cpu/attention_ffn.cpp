/// The gated feed-forward layer, and the product of matrices whose parts are on several devices: products of oneDNN, or
/// of our own in float64.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_ffn.cpp"
#include <hwy/foreach_target.h>

#include <array>
#include <cmath>

#include "kernels/cpu/few_rows.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/product.hpp"
#include "kernels/cpu/unary-inl.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/attention_ffn.hpp"
#include "kernels/operands/linear.hpp"
#include "kernels/operands/workspace.hpp"

#define FORMULAS(X) X(SiluGate)

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace {

/// silu(gate) * up
struct SiluGate {
    static double one(double gate, double up) { return gate / (1 + std::exp(-gate)) * up; }
    template <class V>
    static HWY_INLINE V many(V gate, V up) {
        return gate / (exp(hn::Neg(gate)) + all<V>(1)) * up;
    }
};

}  // namespace

FORMULAS(DIOPI_TILES)

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diopi::cpu {

namespace {

FORMULAS(DIOPI_FORMULA)

/// Bytes of the two tensors (tokens, inter) between the products, and of the way to an aligned address.
int64_t workspace_of(const SiluFfn& a, bool wide) {
    const int64_t numel = a.tokens() * a.inter();
    return numel == 0 ? 0 : 2 * numel * (wide ? 8 : 4) + kWorkspaceAlignment;
}

/// The product of the gated numbers with weight2, read as elements P.
template <class P, class T>
diopiError_t multiply_gated(diopiContextHandle_t ctx, const SiluFfn& a, const T* gated) {
    Staging staging(ctx);
    const auto* w2 = staging.in<P>(a.weight2);
    auto* y = staging.out<P>(a.inoutput);
    if (staging.error() != diopiSuccess) return staging.error();
    const ProductShape size{a.tokens(), a.hidden(), a.inter()};
    const P* no_bias = nullptr;
    const diopiError_t error = product(ctx, size, Matrices<T>{gated}, Matrices<P>{w2}, no_bias, y);
    return error == diopiSuccess ? staging.finish() : error;
}

/// The products with weight1 and weight3 are of elements P, the gate is computed in T. So is the last product, unless
/// weight2 is read as P: with few rows, or with gated numbers that are rounded to bfloat16 and suit its units.
template <class P, class T>
diopiError_t run_ffn(diopiContextHandle_t ctx, std::string_view op, const SiluFfn& a, std::byte* workspace) {
    Staging staging(ctx);
    const auto* x = staging.in<P>(a.inoutput);
    const auto* w1 = staging.in<P>(a.weight1);
    const auto* w3 = staging.in<P>(a.weight3);
    if (staging.error() != diopiSuccess) return staging.error();
    const T* no_bias = nullptr;
    const Shape shape = {a.tokens(), a.inter()}, strides = contiguous_strides(shape);
    T *gate = aligned<T>(workspace), *up = gate + numel(shape);
    const ProductShape size{a.tokens(), a.inter(), a.hidden()};
    diopiError_t error = product(ctx, size, Matrices<P>{x}, Matrices<P>{w1}, no_bias, gate);
    if (error == diopiSuccess) error = product(ctx, size, Matrices<P>{x}, Matrices<P>{w3}, no_bias, up);
    const auto as_view = [&](T* data, Dtype dtype) {
        return View{reinterpret_cast<std::byte*>(data), dtype, shape, strides, numel(shape)};
    };
    const View gated = as_view(gate, kComputeDtype<T>);
    if (error == diopiSuccess)
        error = map_real<SiluGate>(ctx, op, gated, std::array{gated, as_view(up, kComputeDtype<T>)});
    if (error != diopiSuccess) return error;
    if constexpr (std::is_same_v<P, Bfloat16>) {
        if (a.tokens() <= kFewRows && a.weight2.dtype == Dtype::bfloat16) return multiply_gated<P>(ctx, a, gate);
        const View rounded = as_view(up, Dtype::bfloat16);
        copy(gated, rounded);
        if (takes_bfloat16(a.tokens(), rounded, a.weight2)) return multiply_gated<P>(ctx, a, rounded.as<P>());
    }
    return multiply_gated<T>(ctx, a, gate);
}

diopiError_t silu_ffn(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t inoutput,
                      diopiConstTensorHandle_t weight1, diopiConstTensorHandle_t weight2,
                      diopiConstTensorHandle_t weight3, diopiTensorHandle_t workspace, int64_t* workspace_size,
                      int64_t) {
    const SiluFfn a{view(inoutput), view(weight1), view(weight2), view(weight3)};
    if (const diopiError_t error = check_silu_ffn(op, a); error != diopiSuccess) return error;
    const bool wide = computes_in_float64({a.inoutput, a.weight1, a.weight2, a.weight3});
    const int64_t wanted = workspace_of(a, wide);
    if (asks_for_size(*workspace_size, wanted)) return diopiSuccess;
    std::byte* memory = nullptr;
    const diopiError_t error = read_workspace(op, "workspace", workspace, *workspace_size, wanted, memory);
    if (error != diopiSuccess || a.inoutput.numel == 0) return error;
    if (wide) return run_ffn<double, double>(ctx, op, a, memory);
    const bool in_bfloat16 =
        takes_bfloat16(a.tokens(), a.inoutput, a.weight1) && takes_bfloat16(a.tokens(), a.inoutput, a.weight3);
    return (in_bfloat16 ? run_ffn<Bfloat16, float> : run_ffn<float, float>)(ctx, op, a, memory);
}

template <class T>
diopiError_t multiply(diopiContextHandle_t ctx, const View& out, const View& x1, const View& x2,
                      diopiConstTensorHandle_t bias) {
    Staging staging(ctx);
    const auto* a = staging.in<T>(x1);
    const auto* b = staging.in<T>(x2);
    const auto* added = staging.in<T>(bias);
    auto* y = staging.out<T>(out);
    if (staging.error() != diopiSuccess) return staging.error();
    const ProductShape size{x1.shape[0], x2.shape[1], x1.shape[1]};
    const diopiError_t error = product(ctx, size, Matrices<T>{a}, Matrices<T>{b}, added, y);
    return error == diopiSuccess ? staging.finish() : error;
}

/// The sum over the ranks is that of the only one.
diopiError_t matmul_all_reduce(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                               diopiConstTensorHandle_t x1, diopiConstTensorHandle_t x2, diopiConstTensorHandle_t bias,
                               const char*, const char* reduce_op, int64_t, int64_t) {
    const View y = view(out), a = view(x1), b = view(x2);
    const diopiError_t error = check_matmul_all_reduce(op, y, a, b, bias, reduce_op);
    if (error != diopiSuccess || y.numel == 0) return error;
    if (computes_in_float64({a, b})) return multiply<double>(ctx, y, a, b, bias);
    const bool is_bfloat16 = y.dtype == Dtype::bfloat16 && (bias == nullptr || view(bias).dtype == Dtype::bfloat16);
    const bool in_bfloat16 = is_bfloat16 && (bias == nullptr ? takes_bfloat16(a.shape[0], a, b)
                                                             : takes_bfloat16(a.shape[0], a, b, {view(bias)}));
    return (in_bfloat16 ? multiply<Bfloat16> : multiply<float>)(ctx, y, a, b, bias);
}

}  // namespace

#include "kernels/entries/attention_ffn.inc"

}  // namespace diopi::cpu
#endif
