#include "kernels/cpu/pool_maxima.hpp"

#include <algorithm>
#include <string>

#include "kernels/cpu/threads.hpp"

namespace diopi::cpu {

namespace {

/// Adds `count` elements where their indices point; false when an index lies outside of the plane.
template <class T>
bool scatter_plane(int64_t area, int64_t count, const T* grad_out, const int64_t* indices, T* plane) {
    for (int64_t i = 0; i < count; ++i) {
        const int64_t place = indices[i];
        if (static_cast<uint64_t>(place) >= static_cast<uint64_t>(area)) return false;
        plane[place] += grad_out[i];
    }
    return true;
}

/// Adds every element of grad_out where its index points; false when an index lies outside of its plane.
template <class T>
bool scatter_maxima(const PoolShape& s, const T* grad_out, const int64_t* indices, T* grad_in) {
    const int64_t area = area_of(s.in), out_area = area_of(s.out);
    bool sound = true;
    parallel_for(s.count, (area + out_area) * s.lanes, [&](int64_t first, int64_t last) {
        std::fill_n(grad_in + first * area * s.lanes, (last - first) * area * s.lanes, T{0});
        for (int64_t n = first; n < last; ++n) {
            T* plane = grad_in + n * area * s.lanes;
            const int64_t from = n * out_area * s.lanes;
            if (s.lanes == 1) {
                if (scatter_plane(area, out_area, grad_out + from, indices + from, plane)) continue;
                __atomic_store_n(&sound, false, __ATOMIC_RELAXED);
                return;
            }
            for (int64_t i = 0; i < out_area; ++i) {
                for (int64_t c = 0; c < s.lanes; ++c) {
                    const int64_t at = from + i * s.lanes + c, place = indices[at];
                    if (place < 0 || place >= area) {
                        __atomic_store_n(&sound, false, __ATOMIC_RELAXED);
                        return;
                    }
                    plane[place * s.lanes + c] += grad_out[at];
                }
            }
        }
    });
    return sound;
}

template <class T>
diopiError_t run_max_backward(diopiContextHandle_t ctx, std::string_view op, const PoolImages& p) {
    const Layout layout = common_layout(p.in, p.out);
    Staging staging(ctx);
    const auto* g = staging.in<T>(p.out.view(), layout);
    const auto* where = staging.in<int64_t>(p.indices.view(), layout);
    auto* grad = staging.out<T>(p.in.view(), layout);
    if (staging.error() != diopiSuccess) return staging.error();
    if (!scatter_maxima(pool_shape(p.in, p.out, layout), g, where, grad)) {
        return fail(diopiErrorOccurred, std::string(op) + ": indices holds a place outside of the plane of input");
    }
    return staging.finish();
}

}  // namespace

diopiError_t add_at_maxima(diopiContextHandle_t ctx, std::string_view op, const PoolImages& p) {
    return (p.in.dtype == Dtype::float64 ? run_max_backward<double> : run_max_backward<float>)(ctx, op, p);
}

}  // namespace diopi::cpu
