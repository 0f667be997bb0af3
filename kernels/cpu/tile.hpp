/// Element-wise kernels on tiles: the engine converts a tile of each operand to the compute type, calls one function on
/// contiguous arrays and stores the result. It handles all dtypes, strides, broadcasting and overlap, so that an
/// operator is one loop per compute type. Operands that already are such arrays are not copied.
#pragma once

#include <complex>
#include <span>

#include "kernels/cpu/convert.hpp"
#include "kernels/cpu/view.hpp"

namespace diopi::cpu {

/// out[k][0..n) from in[k][0..n), all of the compute type. An out may be the same array as an in. Several threads call
/// it with the same state.
using TileFunction = void (*)(void* const* out, const void* const* in, int64_t n, const void* state);

struct TileOp {
    Dtype compute;
    TileFunction run;  ///< null: out is the converted input
    const void* state = nullptr;
};

/// Runs the operator on all elements, large tensors in threads. The outs have one shape, the ins broadcast to it. The
/// compute type is the dtype of an operand, or one of float32, float64, int64 and complex128, to which every operand
/// converts. An in that overlaps an out without being the same view is copied first. Fails when a shape does not fit or
/// an out repeats its elements.
[[nodiscard]] diopiError_t for_each_tile(diopiContextHandle_t ctx, std::string_view op, std::span<const View> outs,
                                         std::span<const View> ins, const TileOp& tile_op);

/// float32 for float16, bfloat16 and float32, float64, int64 for integers and bool, complex128 for complex: computes
/// with any operand of the category.
[[nodiscard]] Dtype wide(Dtype dtype);
/// The compute type for results of dtype `result`: `result` itself if every operand has it, else wide(result).
[[nodiscard]] Dtype compute_dtype(Dtype result, std::span<const View> outs, std::span<const View> ins);

/// The tile function that applies f(a) or f(a, b).
template <class T, class F>
[[nodiscard]] TileOp unary(Dtype compute, const F& f) {
    const TileFunction run = [](void* const* out, const void* const* in, int64_t n, const void* state) {
        const F g = *static_cast<const F*>(state);
        T* o = static_cast<T*>(out[0]);
        const T* a = static_cast<const T*>(in[0]);
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) o[i] = g(a[i]);
    };
    return {compute, run, &f};
}

template <class T, class F>
[[nodiscard]] TileOp binary(Dtype compute, const F& f) {
    const TileFunction run = [](void* const* out, const void* const* in, int64_t n, const void* state) {
        const F g = *static_cast<const F*>(state);
        T* o = static_cast<T*>(out[0]);
        const T* a = static_cast<const T*>(in[0]);
        const T* b = static_cast<const T*>(in[1]);
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) o[i] = g(a[i], b[i]);
    };
    return {compute, run, &f};
}

/// Calls f.template operator()<T>() with the C++ type of a compute dtype. Signed integers compute as unsigned ones,
/// which wrap around.
template <class F>
diopiError_t with_wrapping_type(Dtype compute, F&& f) {
    switch (compute) {
        case Dtype::float32:
            return f.template operator()<float>();
        case Dtype::float64:
            return f.template operator()<double>();
        case Dtype::int8:
        case Dtype::uint8:
            return f.template operator()<uint8_t>();
        case Dtype::int16:
        case Dtype::uint16:
            return f.template operator()<uint16_t>();
        case Dtype::int32:
        case Dtype::uint32:
            return f.template operator()<uint32_t>();
        case Dtype::int64:
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

}  // namespace diopi::cpu
