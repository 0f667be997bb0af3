/// Element-wise kernels on tiles: the engine converts a tile of each operand to the compute type, calls one function on
/// contiguous arrays and stores the result. It handles all dtypes, strides, broadcasting and overlap, so that an
/// operator is one loop per compute type. Operands that already are such arrays are not copied.
#pragma once

#include <complex>
#include <optional>
#include <span>

#include "core/half.hpp"
#include "core/instruction_sets.hpp"
#include "kernels/cpu/convert.hpp"
#include "kernels/cpu/read_ahead.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/cpu/view.hpp"

namespace diopi::cpu {

/// out[k][0..n) from in[k][0..n), all of the compute type, or the outs of the stored type. An out may be the same array
/// as an in of its type. Several threads call it with the same state.
using TileFunction = void (*)(void* const* out, const void* const* in, int64_t n, const void* state);

struct TileOp {
    Dtype compute;
    TileFunction run;  ///< null: out is the converted input
    const void* state = nullptr;
    Loop loop = Loop::transcendental;
    /// Where `compute` is float32: the same on arrays of bfloat16, if all operands are of that dtype; null: none.
    TileFunction run_bfloat16 = nullptr;
    /// The type of the outs where it is not the compute type: truth values, the parts of complex numbers.
    std::optional<Dtype> stored = {};

    [[nodiscard]] Dtype stored_type() const { return stored.value_or(compute); }
};

/// Whether a function's result is one of its operands, or its negative, so that it needs no rounding.
template <class F>
constexpr bool kSelects = requires {
    typename F::Selects;
};

/// Whether a function has a form for the bits of bfloat16.
template <class F>
constexpr bool kTakesBits = requires(uint16_t bits) {
    F::of_bits(bits);
};

/// An element in the type that it computes in, and back.
template <class T>
auto widened(T x) {
    if constexpr (std::is_same_v<T, Bfloat16>)
        return to_float(x);
    else
        return x;
}
template <class T, class F, class X>
T narrowed(X x) {
    if constexpr (!std::is_same_v<T, Bfloat16>)
        return x;
    else if constexpr (kSelects<F>)
        return {static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16)};
    else
        return to_bfloat16(x);
}

/// Runs the operator on all elements, large tensors in threads. The outs have one shape, the ins broadcast to it. The
/// compute type is the dtype of an operand, or one of float32, float64, int64 and complex128, to which every operand
/// converts. An in that overlaps an out without being the same view is copied first. Fails when a shape does not fit or
/// an out repeats its elements.
[[nodiscard]] diopiError_t for_each_tile(diopiContextHandle_t ctx, std::string_view op, std::span<const View> outs,
                                         std::span<const View> ins, const TileOp& tile_op);

/// float32 for float16, bfloat16 and float32, float64, int64 for integers and bool, complex128 for complex: computes
/// with any operand of the category.
[[nodiscard]] Dtype wide(Dtype dtype);
/// The same for a sum to which terms of `dtype` are added one after the other, up to `most` of them on one place.
/// float64 for many floating ones: the roundings of equal terms in float32 do not cancel, and lose n / 4 ulp.
[[nodiscard]] Dtype dtype_of_sum(Dtype dtype, int64_t most);
/// The compute type for results of dtype `result`: `result` itself if every operand has it, else wide(result).
[[nodiscard]] Dtype compute_dtype(Dtype result, std::span<const View> outs, std::span<const View> ins);

/// out = f(in[0], ..., in[kIns - 1]) on arrays of T; the out is one of R. bfloat16 computes in float32.
template <int kIns, class T, class F, class R = T>
void map_loop(void* const* out, const void* const* in, int64_t n, const void* state) {
    const F g = *static_cast<const F*>(state);
    R* o = static_cast<R*>(out[0]);
    const T* a = static_cast<const T*>(in[0]);
    const T* b = kIns > 1 ? static_cast<const T*>(in[1]) : nullptr;
    const T* c = kIns > 2 ? static_cast<const T*>(in[2]) : nullptr;
    const T* d = kIns > 3 ? static_cast<const T*>(in[3]) : nullptr;
    const T* e = kIns > 4 ? static_cast<const T*>(in[4]) : nullptr;
    const auto element = [&](int64_t i) {
        if constexpr (kIns == 1 && std::is_same_v<T, Bfloat16> && std::is_same_v<R, T> && kTakesBits<F>)
            o[i] = {F::of_bits(a[i].bits)};
        else if constexpr (kIns == 1)
            o[i] = narrowed<R, F>(g(widened(a[i])));
        else if constexpr (kIns == 2)
            o[i] = narrowed<R, F>(g(widened(a[i]), widened(b[i])));
        else if constexpr (kIns == 3)
            o[i] = narrowed<R, F>(g(widened(a[i]), widened(b[i]), widened(c[i])));
        else if constexpr (kIns == 4)
            o[i] = narrowed<R, F>(g(widened(a[i]), widened(b[i]), widened(c[i]), widened(d[i])));
        else
            o[i] = narrowed<R, F>(g(widened(a[i]), widened(b[i]), widened(c[i]), widened(d[i]), widened(e[i])));
    };
    if constexpr (kIns > 1) {
        loop_ahead({a, b, c, d, e}, n, element);
    } else {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) element(i);
    }
}

/// The operator that applies f to kIns operands. `f` must live as long as it.
template <int kIns, class T, class F>
[[nodiscard]] TileOp map(Dtype compute, const F& f) {
    TileOp op{compute, best<map_loop<kIns, T, F>>(), &f, Loop::arithmetic};
    if constexpr (std::is_same_v<T, float>) op.run_bfloat16 = best<map_loop<kIns, Bfloat16, F>>();
    return op;
}
template <class T, class F>
[[nodiscard]] TileOp unary(Dtype compute, const F& f) {
    return map<1, T>(compute, f);
}
template <class T, class F>
[[nodiscard]] TileOp binary(Dtype compute, const F& f) {
    return map<2, T>(compute, f);
}
template <class T, class F>
[[nodiscard]] TileOp ternary(Dtype compute, const F& f) {
    return map<3, T>(compute, f);
}

/// The same for a function whose results are of another type than its operands: R, whose dtype is `stored`.
template <int kIns, class T, class R, class F>
[[nodiscard]] TileOp map_to(Dtype compute, Dtype stored, const F& f) {
    TileOp op{compute, best<map_loop<kIns, T, F, R>>(), &f, Loop::arithmetic};
    if constexpr (std::is_same_v<T, float>) op.run_bfloat16 = best<map_loop<kIns, Bfloat16, F, R>>();
    op.stored = stored;
    return op;
}

/// Calls f.template operator()<T>() with the C++ type of a compute dtype.
template <class F>
diopiError_t with_type(Dtype compute, F&& f) {
    switch (compute) {
        case Dtype::float32:
            return f.template operator()<float>();
        case Dtype::float64:
            return f.template operator()<double>();
        case Dtype::int8:
            return f.template operator()<int8_t>();
        case Dtype::uint8:
            return f.template operator()<uint8_t>();
        case Dtype::int16:
            return f.template operator()<int16_t>();
        case Dtype::uint16:
            return f.template operator()<uint16_t>();
        case Dtype::int32:
            return f.template operator()<int32_t>();
        case Dtype::uint32:
            return f.template operator()<uint32_t>();
        case Dtype::int64:
            return f.template operator()<int64_t>();
        case Dtype::uint64:
            return f.template operator()<uint64_t>();
        case Dtype::boolean:
            return f.template operator()<Bool>();
        case Dtype::complex64:
            return f.template operator()<std::complex<float>>();
        case Dtype::complex128:
            return f.template operator()<std::complex<double>>();
        case Dtype::float16:
        case Dtype::bfloat16:
        case Dtype::tfloat32:
        case Dtype::complex32:
        case Dtype::unsupported:
            break;
    }
    return fail(diopiErrorOccurred, "cpu: no element-wise loop computes in " + std::string(name(compute)));
}

/// The same; signed integers compute as unsigned ones, which wrap around.
template <class F>
diopiError_t with_wrapping_type(Dtype compute, F&& f) {
    return with_type(compute, [&]<class T>() {
        if constexpr (std::is_integral_v<T>)
            return f.template operator()<std::make_unsigned_t<T>>();
        else
            return f.template operator()<T>();
    });
}

}  // namespace diopi::cpu
