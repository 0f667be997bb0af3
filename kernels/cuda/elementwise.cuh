/// Element-wise kernels. An operator is a functor over its compute type C (float, double, int64_t or uint64_t),
///
///     template <class C>
///     struct Multiply {
///         __device__ C operator()(C a, C b) const { return a * b; }
///     };
///
/// and `map<C>(ctx, op, out, inputs, Multiply<C>{})`: any strides, broadcasting, 0-dim, empty, overlap, any mixture of
/// dtypes. Operands of one floating dtype, the output among them, have kernels of their own.
#pragma once

#include <array>
#include <utility>

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/nest.hpp"

namespace diopi::cuda {

/// The inputs of a kernel that computes in C. Without data an input is a number.
template <class C, int kIns>
struct Inputs {
    const void* data[kIns];
    Dtype dtypes[kIns];
    C numbers[kIns];
    bool repeats[kIns];  ///< in a run: one element for all
};

template <class F, class C, int kIns>
__device__ C call(const F& f, const C (&values)[kIns]) {
    if constexpr (kIns == 1) return f(values[0]);
    if constexpr (kIns == 2) return f(values[0], values[1]);
    if constexpr (kIns == 3) return f(values[0], values[1], values[2]);
}

/// Output and inputs are runs of T (or repeat one element), aligned to packs.
template <class T, class C, int kIns, class F>
__global__ void run_kernel(F f, T* out, Inputs<C, kIns> in, int64_t n) {
    constexpr int kPack = 16 / sizeof(T);
    using Packed = Pack<T, kPack>;
    C values[kPack][kIns];
    bool moves[kIns];
    for (int k = 0; k < kIns; ++k) {
        moves[k] = in.data[k] != nullptr && !in.repeats[k];
        const C fixed = in.data[k] == nullptr ? in.numbers[k] : convert<C>(static_cast<const T*>(in.data[k])[0]);
        for (int i = 0; i < kPack; ++i) values[i][k] = fixed;
    }
    const int64_t step = int64_t{gridDim.x} * blockDim.x * kPack;
    for (int64_t at = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kPack; at < n; at += step) {
        const bool is_whole = at + kPack <= n;
        for (int k = 0; k < kIns; ++k) {
            if (!moves[k]) continue;
            const T* from = static_cast<const T*>(in.data[k]) + at;
            Packed pack{};
            if (is_whole) {
                pack = *reinterpret_cast<const Packed*>(from);
            } else {
                for (int i = 0; i < kPack && at + i < n; ++i) pack.at[i] = from[i];
            }
            for (int i = 0; i < kPack; ++i) values[i][k] = convert<C>(pack.at[i]);
        }
        Packed result;
        for (int i = 0; i < kPack; ++i) result.at[i] = convert<T>(call(f, values[i]));
        if (is_whole) {
            *reinterpret_cast<Packed*>(out + at) = result;
        } else {
            for (int i = 0; i < kPack && at + i < n; ++i) out[at + i] = result.at[i];
        }
    }
}

/// All operands are of T, with places that fit 32 bits.
template <class T, class C, int kIns, class F>
__global__ void strided_kernel(F f, T* out, Inputs<C, kIns> in, Walk<int32_t, kIns + 1> walk, int32_t n) {
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < n; at += step) {
        int32_t places[kIns + 1];
        walk.find(static_cast<int32_t>(at), places);
        C values[kIns];
        for (int k = 0; k < kIns; ++k) {
            values[k] =
                in.data[k] == nullptr ? in.numbers[k] : convert<C>(static_cast<const T*>(in.data[k])[places[k + 1]]);
        }
        out[places[0]] = convert<T>(call(f, values));
    }
}

/// Any dtypes, any size.
template <class C, int kIns, class F>
__global__ void mixed_kernel(F f, void* out, Dtype out_dtype, Inputs<C, kIns> in, Walk<int64_t, kIns + 1> walk,
                             int64_t n) {
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < n; at += step) {
        int64_t places[kIns + 1];
        walk.find(at, places);
        C values[kIns];
        for (int k = 0; k < kIns; ++k) {
            values[k] = in.data[k] == nullptr ? in.numbers[k] : load<C>(in.data[k], places[k + 1], in.dtypes[k]);
        }
        store(out, places[0], out_dtype, call(f, values));
    }
}

/// A contiguous copy of `view`, owned by the context for the rest of the call. (copy.cu)
[[nodiscard]] diopiError_t copy_of(diopiContextHandle_t ctx, std::string_view op, const View& view, View& made);

namespace elementwise_detail {

template <class T, class C, int kIns, class F>
diopiError_t launch_typed(diopiContextHandle_t ctx, std::string_view op, const Nest& nest, void* data,
                          const Inputs<C, kIns>& in, F f) {
    constexpr size_t kPackBytes = 16;
    bool packs = nest.is_run() && is_aligned(data, kPackBytes);
    for (int k = 0; k < kIns; ++k) packs = packs && (in.repeats[k] || is_aligned(in.data[k], kPackBytes));
    T* out = static_cast<T*>(data);
    if (packs) {
        const Launch l = launch_for(nest.numel, kPackBytes / sizeof(T));
        return launch(ctx, op, l, run_kernel<T, C, kIns, F>, f, out, in, nest.numel);
    }
    return launch(ctx, op, launch_for(nest.numel, 1), strided_kernel<T, C, kIns, F>, f, out, in,
                  walk_of<int32_t, kIns + 1>(nest), nest.numel);
}

/// The dtype of all operands but numbers, or `unsupported` when there are several.
template <size_t kOperands>
Dtype common_dtype(const std::array<View, kOperands>& operands) {
    for (const View& v : operands) {
        if (v.data != nullptr && v.dtype != operands[0].dtype) return Dtype::unsupported;
    }
    return operands[0].dtype;
}

}  // namespace elementwise_detail

/// out = f(inputs) element by element, in the compute type C. An input without data is the number at its place in
/// `numbers`. No operand may be complex.
template <class C, size_t kIns, class F>
diopiError_t map(diopiContextHandle_t ctx, std::string_view op, const View& out, std::array<View, kIns> ins, F f,
                 const std::array<C, kIns>& numbers = {}) {
    if (const diopiError_t error = check_views(op, out, ins); error != diopiSuccess) return error;
    if (out.numel == 0) return diopiSuccess;
    std::array<View, kIns + 1> operands;
    operands[0] = out;
    Inputs<C, static_cast<int>(kIns)> in{};
    for (size_t k = 0; k < kIns; ++k) {
        if (is_in_the_way(out, ins[k])) {
            if (const diopiError_t error = copy_of(ctx, op, ins[k], ins[k]); error != diopiSuccess) return error;
        }
        operands[k + 1] = ins[k];
        in.data[k] = ins[k].data;
        in.dtypes[k] = ins[k].dtype;
        in.numbers[k] = numbers[k];
    }
    const Nest nest = make_nest(operands);
    for (size_t k = 0; k < kIns; ++k) in.repeats[k] = nest.strides[k + 1][0] == 0;

    using elementwise_detail::launch_typed;
    const Dtype dtype = elementwise_detail::common_dtype(operands);
    const bool is_narrow = nest.is_run() || nest.fits_32_bits();
    if constexpr (std::is_same_v<C, float>) {
        if (is_narrow && dtype == Dtype::float32) return launch_typed<float>(ctx, op, nest, out.data, in, f);
        if (is_narrow && dtype == Dtype::float16) return launch_typed<__half>(ctx, op, nest, out.data, in, f);
        if (is_narrow && dtype == Dtype::bfloat16) return launch_typed<__nv_bfloat16>(ctx, op, nest, out.data, in, f);
    }
    if constexpr (std::is_same_v<C, double>) {
        if (is_narrow && dtype == Dtype::float64) return launch_typed<double>(ctx, op, nest, out.data, in, f);
    }
    constexpr int kInputs = static_cast<int>(kIns);
    return launch(ctx, op, launch_for(nest.numel, 1), mixed_kernel<C, kInputs, F>, f, out.data, out.dtype, in,
                  walk_of<int64_t, kInputs + 1>(nest), nest.numel);
}

/// Calls f<C>() with what a result of that dtype is computed in: float for the narrow floating dtypes, double, int64_t
/// for integers and bool; uint64_t where `dtype` is that and nothing else.
template <class F>
diopiError_t with_compute_type(Dtype dtype, F&& f) {
    if (dtype == Dtype::float64) return f.template operator()<double>();
    if (is_floating(dtype)) return f.template operator()<float>();
    if (dtype == Dtype::uint64) return f.template operator()<uint64_t>();
    return f.template operator()<int64_t>();
}

}  // namespace diopi::cuda
