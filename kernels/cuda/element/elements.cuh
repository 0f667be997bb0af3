/// The elements of a tensor of one floating dtype, or of any dtype, so that one kernel serves both.
#pragma once

#include <limits>

#include "kernels/cuda/element/element.cuh"
#include "kernels/cuda/view.hpp"

namespace diopi::cuda {

template <class C>
constexpr C kInfinity = std::numeric_limits<C>::infinity();
template <class C>
constexpr C kNan = std::numeric_limits<C>::quiet_NaN();

template <class T>
struct Elements {
    using Compute = ComputeOf<T>;
    T* data;

    [[nodiscard]] static Elements of(const View& v) { return {reinterpret_cast<T*>(v.data)}; }
    __device__ Compute get(int64_t place) const { return convert<Compute>(data[place]); }
    __device__ void put(int64_t place, Compute value) const { data[place] = convert<T>(value); }

    /// Neighbouring elements; several of them must begin at a multiple of 16 bytes.
    template <int kCount>
    __device__ void get(int64_t place, Compute (&values)[kCount]) const {
        const auto pack = *reinterpret_cast<const Pack<T, kCount>*>(data + place);
        for (int i = 0; i < kCount; ++i) values[i] = convert<Compute>(pack.at[i]);
    }
    template <int kCount>
    __device__ void put(int64_t place, const Compute (&values)[kCount]) const {
        Pack<T, kCount> pack;
        for (int i = 0; i < kCount; ++i) pack.at[i] = convert<T>(values[i]);
        *reinterpret_cast<Pack<T, kCount>*>(data + place) = pack;
    }
};

template <>
struct Elements<Any> {
    using Compute = double;
    void* data;
    Dtype dtype;

    [[nodiscard]] static Elements of(const View& v) { return {v.data, v.dtype}; }
    __device__ double get(int64_t place) const { return load<double>(data, place, dtype); }
    __device__ void put(int64_t place, double value) const { store(data, place, dtype, value); }
    __device__ void get(int64_t place, double (&values)[1]) const { values[0] = get(place); }
    __device__ void put(int64_t place, const double (&values)[1]) const { put(place, values[0]); }
};

/// Calls f<T>() with the type of a floating dtype, and with Any for every other.
template <class F>
diopiError_t with_elements(Dtype dtype, F&& f) {
    if (dtype == Dtype::float32) return f.template operator()<float>();
    if (dtype == Dtype::float64) return f.template operator()<double>();
    if (dtype == Dtype::float16) return f.template operator()<__half>();
    if (dtype == Dtype::bfloat16) return f.template operator()<__nv_bfloat16>();
    return f.template operator()<Any>();
}

}  // namespace diopi::cuda
