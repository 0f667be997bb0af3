#include "kernels/cpu/pool_maxima.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/cpu/convert.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/threads.hpp"

namespace diopi::cpu {

namespace {

/// Adds grad_out, `count` elements of each lane, where their indices point in a plane of `area` elements; false when an
/// index lies outside of it.
template <class T>
bool scatter_plane(int64_t area, int64_t count, int64_t lanes, const T* grad_out, const int64_t* indices, T* plane) {
    for (int64_t i = 0; i < count; ++i) {
        for (int64_t c = 0; c < lanes; ++c) {
            const int64_t place = indices[i * lanes + c];
            if (static_cast<uint64_t>(place) >= static_cast<uint64_t>(area)) return false;
            plane[place * lanes + c] += grad_out[i * lanes + c];
        }
    }
    return true;
}

/// Adds every element of grad_out where its index points; false when an index lies outside of its plane. A plane of a
/// half type is formed in float32.
template <class T, class Stored>
bool scatter_maxima(const PoolShape& s, const T* grad_out, const int64_t* indices, Stored* grad_in) {
    constexpr bool kRounds = !std::is_same_v<T, Stored>;
    const auto round = kRounds ? converter(kComputeDtype<T>, kComputeDtype<Stored>) : nullptr;
    const int64_t area = area_of(s.in), out_area = area_of(s.out), size = area * s.lanes, given = out_area * s.lanes;
    std::atomic<bool> sound = true;
    parallel_for(s.count, size + given, [&](int64_t first, int64_t last) {
        std::vector<T> own(kRounds ? static_cast<size_t>(size) : 0);
        for (int64_t n = first; n < last; ++n) {
            Stored* stored = grad_in + n * size;
            T* plane = own.data();
            if constexpr (!kRounds) plane = stored;
            std::fill_n(plane, size, T{0});
            const int64_t from = n * given;
            if (!scatter_plane(area, out_area, s.lanes, grad_out + from, indices + from, plane)) sound = false;
            if (kRounds) round(plane, stored, size);
        }
    });
    return sound;
}

template <class T, class Stored>
diopiError_t run_max_backward(diopiContextHandle_t ctx, std::string_view op, const PoolImages& p) {
    const Layout layout = common_layout(p.in, p.out);
    Staging staging(ctx);
    const auto* g = staging.in<T>(p.out.view(), layout);
    const auto* where = staging.in<int64_t>(p.indices.view(), layout);
    auto* grad = staging.out<Stored>(p.in.view(), layout);
    if (staging.error() != diopiSuccess) return staging.error();
    if (!scatter_maxima(pool_shape(p.in, p.out, layout), g, where, grad)) {
        return fail(diopiErrorOccurred, std::string(op) + ": indices holds a place outside of the plane of input");
    }
    return staging.finish();
}

}  // namespace

diopiError_t add_at_maxima(diopiContextHandle_t ctx, std::string_view op, const PoolImages& p) {
    const auto run = p.in.dtype == Dtype::float64    ? run_max_backward<double, double>
                     : p.in.dtype == Dtype::bfloat16 ? run_max_backward<float, Bfloat16>
                     : p.in.dtype == Dtype::float16  ? run_max_backward<float, Half>
                                                     : run_max_backward<float, float>;
    return run(ctx, op, p);
}

}  // namespace diopi::cpu
