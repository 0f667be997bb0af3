/// The common parts of the pooling kernels.
#pragma once

#include "kernels/cuda/element/elements.cuh"
#include "kernels/cuda/element/launch.cuh"
#include "kernels/cuda/pool_plan.hpp"

namespace diopi::cuda {

/// How a kernel over Elements<T> counts elements and places.
template <class T>
using IndexOf = std::conditional_t<std::is_same_v<T, Any>, int64_t, int32_t>;

/// Calls f<T, kPack>(): T is the dtype of output and input where `is_narrow`, else Any; kPack the channels that a
/// thread takes at once.
template <class F>
diopiError_t with_channel_packs(std::string_view op, const Images& out, const Images& in, bool is_narrow, F&& f) {
    for (const Dtype dtype : {out.dtype, in.dtype}) {
        if (is_complex(dtype)) return unsupported(op, "an image", dtype, "a floating dtype");
    }
    const bool is_one = is_narrow && out.dtype == in.dtype && fits_32_bits(out) && fits_32_bits(in);
    return with_elements(is_one ? out.dtype : Dtype::unsupported, [&]<class T>() {
        constexpr int kPack = kPackOf<T>;
        if (has_channel_packs(out, kPack) && has_channel_packs(in, kPack)) {
            return f.template operator()<T, kPack>();
        }
        return f.template operator()<T, 1>();
    });
}

}  // namespace diopi::cuda
