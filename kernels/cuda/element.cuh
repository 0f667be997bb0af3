/// Elements on the device: from memory into the type that is computed in, and back.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

#include "core/dtype.hpp"

namespace diopi::cuda {

/// Floating to integer truncates, integers wrap, non-zero is true; to a half type is rounded once.
template <class To, class From>
__device__ To convert(From x) {
    if constexpr (std::is_same_v<To, From>) {
        return x;
    } else if constexpr (std::is_same_v<From, __half>) {
        return convert<To>(__half2float(x));
    } else if constexpr (std::is_same_v<From, __nv_bfloat16>) {
        return convert<To>(__bfloat162float(x));
    } else if constexpr (std::is_same_v<To, bool>) {
        return x != From(0);
    } else if constexpr (std::is_same_v<To, __half>) {
        if constexpr (std::is_same_v<From, float>) return __float2half_rn(x);
        return __double2half(static_cast<double>(x));
    } else if constexpr (std::is_same_v<To, __nv_bfloat16>) {
        if constexpr (std::is_same_v<From, float>) return __float2bfloat16_rn(x);
        return __double2bfloat16(static_cast<double>(x));
    } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
        return static_cast<To>(static_cast<int64_t>(x));
    } else {
        return static_cast<To>(x);
    }
}

/// Calls f(T) with a value of the C++ type of a dtype. Complex types are refused before a kernel is launched.
template <class F>
__device__ void with_type(Dtype dtype, F&& f) {
    switch (dtype) {
        case Dtype::float32:
        case Dtype::tfloat32:
            return f(float());
        case Dtype::float64:
            return f(double());
        case Dtype::float16:
            return f(__half());
        case Dtype::bfloat16:
            return f(__nv_bfloat16());
        case Dtype::int8:
            return f(int8_t());
        case Dtype::uint8:
            return f(uint8_t());
        case Dtype::int16:
            return f(int16_t());
        case Dtype::uint16:
            return f(uint16_t());
        case Dtype::int32:
            return f(int32_t());
        case Dtype::uint32:
            return f(uint32_t());
        case Dtype::int64:
            return f(int64_t());
        case Dtype::uint64:
            return f(uint64_t());
        case Dtype::boolean:
            return f(bool());
        case Dtype::complex32:
        case Dtype::complex64:
        case Dtype::complex128:
        case Dtype::unsupported:
            break;
    }
}

template <class C>
__device__ C load(const void* data, int64_t place, Dtype dtype) {
    C value{};
    with_type(dtype, [&](auto typed) { value = convert<C>(static_cast<const decltype(typed)*>(data)[place]); });
    return value;
}

template <class C>
__device__ void store(void* data, int64_t place, Dtype dtype, C value) {
    with_type(dtype, [&](auto typed) { static_cast<decltype(typed)*>(data)[place] = convert<decltype(typed)>(value); });
}

/// kCount neighbours that are loaded at once.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
    T at[kCount];
};

}  // namespace diopi::cuda
