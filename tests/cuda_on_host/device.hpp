/// The declarations that nvcc adds to a .cu file, for the host's compiler: kernels then run on the host's processor,
/// block by block, their threads in turns. The build includes it before each kernel source (CMakeLists.txt).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <math.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <type_traits>

#include "tests/cuda_on_host/grid.hpp"

#undef __global__
#define __global__
#undef __device__
#define __device__
#undef __host__
#define __host__
#undef __forceinline__
#define __forceinline__ inline
#undef __launch_bounds__
#define __launch_bounds__(...)
// One block runs at a time.
#undef __shared__
#define __shared__ static

constexpr int warpSize = 32;

inline void __syncthreads() { cuda_on_host::wait_for_block(); }
inline void __syncwarp(unsigned mask = ~0u) { cuda_on_host::wait_for_warp(mask); }
inline void __threadfence() {}
inline void __threadfence_block() {}

namespace cuda_on_host {

/// The value of lane `from`, after all lanes in `mask` have given theirs; the own value if that lane is not in `mask`.
template <class T>
T exchange(unsigned mask, T value, int from, int width) {
    static_assert(sizeof(T) <= kSlotBytes && std::is_trivially_copyable_v<T>);
    const int lane = lane_of_warp(), base = lane / width * width;
    const std::byte* all = gather_lanes(mask, &value, sizeof(T));
    if (from < base || from >= base + width || (mask >> from & 1u) == 0) return value;
    std::memcpy(&value, all + static_cast<size_t>(from) * kSlotBytes, sizeof(T));
    return value;
}

}  // namespace cuda_on_host

template <class T>
T __shfl_sync(unsigned mask, T value, int from, int width = warpSize) {
    const int lane = cuda_on_host::lane_of_warp();
    return cuda_on_host::exchange(mask, value, lane / width * width + from % width, width);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = warpSize) {
    return cuda_on_host::exchange(mask, value, cuda_on_host::lane_of_warp() ^ bits, width);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = warpSize) {
    return cuda_on_host::exchange(mask, value, cuda_on_host::lane_of_warp() + static_cast<int>(by), width);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = warpSize) {
    return cuda_on_host::exchange(mask, value, cuda_on_host::lane_of_warp() - static_cast<int>(by), width);
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
    const std::byte* all = cuda_on_host::gather_lanes(mask, &predicate, sizeof predicate);
    unsigned votes = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
        int vote = 0;
        std::memcpy(&vote, all + lane * cuda_on_host::kSlotBytes, sizeof vote);
        if ((mask >> lane & 1u) != 0 && vote != 0) votes |= 1u << lane;
    }
    return votes;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0 ? 1 : 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) == mask ? 1 : 0; }

template <class T>
T atomicAdd(T* to, std::type_identity_t<T> value) {
    const T before = *to;
    *to = before + value;
    return before;
}
template <class T>
T atomicMax(T* to, std::type_identity_t<T> value) {
    const T before = *to;
    if (before < value) *to = value;
    return before;
}
template <class T>
T atomicMin(T* to, std::type_identity_t<T> value) {
    const T before = *to;
    if (value < before) *to = value;
    return before;
}
template <class T>
T atomicCAS(T* to, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
    const T before = *to;
    if (before == expected) *to = value;
    return before;
}

template <class T>
T __ldg(const T* from) {
    return *from;
}
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>((uint64_t{a} * b) >> 32); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }

/// Runs the kernel before it returns.
template <class... Parameters, class... Args>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...), Args&&... args) {
    return cuda_on_host::run(*config, [&] { kernel(static_cast<Parameters>(args)...); });
}
