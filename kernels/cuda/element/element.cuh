/// Elements on the device: from memory into the compute type, and back.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/dtype.hpp"

namespace diopi::cuda {

/// A complex number in memory.
template <class T>
struct alignas(2 * sizeof(T)) ComplexOf {
    T real, imag;
};
/// The compute type of all complex numbers: float64 costs no time, because the GPU waits for memory.
using Complex = ComplexOf<double>;

template <class T>
constexpr bool kIsComplex = false;
template <class T>
constexpr bool kIsComplex<ComplexOf<T>> = true;

/// A number that does not fit becomes the same as on the cpu backend: the least number of 32 or 64 bits, cut off for
/// narrower types. Unsigned types take the low bits of the 64-bit number.
template <class To, class From>
__device__ To truncated(From x) {
    using Step = std::conditional_t<std::is_signed_v<To> && sizeof(To) <= 4, int32_t, int64_t>;
    constexpr Step kLeast = std::numeric_limits<Step>::min();
    constexpr From kEnd = -static_cast<From>(kLeast);
    return static_cast<To>(x >= -kEnd && x < kEnd ? static_cast<Step>(x) : kLeast);
}

/// Floating to integer truncates, integers wrap, non-zero is true, a complex number loses its imaginary part, a half
/// type gets a number rounded once.
template <class To, class From>
__device__ To convert(From x) {
    if constexpr (std::is_same_v<To, From>) {
        return x;
    } else if constexpr (kIsComplex<From> && kIsComplex<To>) {
        using Part = decltype(To::real);
        return {convert<Part>(x.real), convert<Part>(x.imag)};
    } else if constexpr (kIsComplex<To>) {
        using Part = decltype(To::real);
        return {convert<Part>(x), convert<Part>(0.0F)};
    } else if constexpr (kIsComplex<From>) {
        if constexpr (std::is_same_v<To, bool>) return convert<bool>(x.real) || convert<bool>(x.imag);
        return convert<To>(x.real);
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
        return truncated<To>(x);
    } else {
        return static_cast<To>(x);
    }
}

/// Calls f(T) with a value of the C++ type of a real dtype. Kernels without complex types are not launched for complex
/// tensors.
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

/// The same, with the complex dtypes if the compute type C is complex.
template <class C, class F>
__device__ void with_type_for(Dtype dtype, F&& f) {
    if constexpr (kIsComplex<C>) {
        if (dtype == Dtype::complex64) return f(ComplexOf<float>());
        if (dtype == Dtype::complex128) return f(ComplexOf<double>());
        if (dtype == Dtype::complex32) return f(ComplexOf<__half>());
    }
    with_type(dtype, f);
}

/// The same, or with `kFloating` only the floating dtypes: each type costs compile time.
template <class C, bool kFloating, class F>
__device__ void with_type_among(Dtype dtype, F&& f) {
    if constexpr (kFloating) {
        if (dtype == Dtype::float16) return f(__half());
        if (dtype == Dtype::bfloat16) return f(__nv_bfloat16());
        if (dtype == Dtype::float64) return f(double());
        return f(float());
    } else {
        with_type_for<C>(dtype, f);
    }
}

/// The element as a C; of a complex dtype only if C is complex.
template <class C>
__device__ C load(const void* data, int64_t place, Dtype dtype) {
    C value{};
    with_type_for<C>(dtype, [&](auto typed) { value = convert<C>(static_cast<const decltype(typed)*>(data)[place]); });
    return value;
}

template <class C>
__device__ void store(void* data, int64_t place, Dtype dtype, C value) {
    with_type_for<C>(dtype,
                     [&](auto typed) { static_cast<decltype(typed)*>(data)[place] = convert<decltype(typed)>(value); });
}

/// Stands for an element type: each load reads the dtype at run time.
struct Any {};

/// The compute type of a kernel over a floating T.
template <class T>
using ComputeOf = std::conditional_t<std::is_same_v<T, double> || std::is_same_v<T, Any>, double, float>;

/// kCount neighbouring elements that are loaded at once.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
    T at[kCount];
};

/// The number of elements in 16 bytes; 1 for Any.
template <class T>
constexpr int kPackOf = 16 / sizeof(T);
template <>
inline constexpr int kPackOf<Any> = 1;

/// The pack at `from`; if fewer elements are `left`, the others are 0.
template <class T, int kCount = kPackOf<T>>
__device__ Pack<T, kCount> load_pack(const T* from, int64_t left) {
    using Packed = Pack<T, kCount>;
    if (left >= kCount) return *reinterpret_cast<const Packed*>(from);
    Packed pack{};
#pragma unroll  // without constant indices every pack would be in local memory
    for (int i = 0; i < kCount; ++i) {
        if (i < left) pack.at[i] = from[i];
    }
    return pack;
}

template <class T>
__device__ void store_pack(T* to, int64_t left, const Pack<T, kPackOf<T>>& pack) {
    if (left >= kPackOf<T>) {
        *reinterpret_cast<Pack<T, kPackOf<T>>*>(to) = pack;
    } else {
#pragma unroll
        for (int i = 0; i < kPackOf<T>; ++i) {
            if (i < left) to[i] = pack.at[i];
        }
    }
}

}  // namespace diopi::cuda
