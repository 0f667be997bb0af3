#include "kernels/cpu/pool_maxima.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/cpu/convert.hpp"
#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/threads.hpp"

namespace diopi::cpu {

namespace {

/// Whether all of n indices lie in a plane of `area` elements.
bool are_inside(const int64_t* indices, int64_t n, int64_t area) {
    int64_t outside = 0;
    for (int64_t i = 0; i < n; ++i) outside |= (indices[i] < 0) | (indices[i] >= area) ? 1 : 0;
    return outside == 0;
}

/// Calls visit(element of grad_out, element of the plane) for `count` elements of each lane.
template <class Visit>
void for_each_place(int64_t count, int64_t lanes, const int64_t* indices, const Visit& visit) {
    if (lanes == 1) {
        for (int64_t i = 0; i < count; ++i) visit(i, indices[i]);
        return;
    }
    for (int64_t i = 0; i < count * lanes; i += lanes) {
        for (int64_t c = 0; c < lanes; ++c) visit(i + c, indices[i + c] * lanes + c);
    }
}

/// From so many elements of a plane for each that is added on, single ones are rounded: for the others this takes
/// longer than a whole plane in vectors. Measured on an AMD EPYC (Zen 3) guest.
constexpr int64_t kSparse = 32;

/// Adds every element of grad_out where its index points; false when an index lies outside of its plane. Elements of a
/// half type are added up in float32, in a plane that is 0 before and after, and rounded by `convert`.
template <class T, class Stored>
bool scatter_maxima(const PoolShape& s, const T* grad_out, const int64_t* indices, Stored* grad_in,
                    [[maybe_unused]] Convert convert) {
    constexpr bool kRounds = !std::is_same_v<T, Stored>;
    const int64_t area = area_of(s.in), out_area = area_of(s.out), size = area * s.lanes, given = out_area * s.lanes;
    const bool is_sparse = size >= kSparse * given;
    std::atomic<bool> sound = true;
    parallel_for(s.count, size + given, [&](int64_t first, int64_t last) {
        std::vector<T> sums(kRounds ? static_cast<size_t>(size) : 0);
        for (int64_t n = first; n < last; ++n) {
            Stored* plane = grad_in + n * size;
            const T* g = grad_out + n * given;
            const int64_t* where = indices + n * given;
            if (!kRounds || is_sparse) std::fill_n(plane, size, Stored{});
            if (!are_inside(where, given, area)) {
                sound = false;
                continue;
            }
            const auto each = [&](const auto& visit) { for_each_place(out_area, s.lanes, where, visit); };
            if constexpr (kRounds) {
                T* sum = sums.data();
                each([=](int64_t i, int64_t place) { sum[place] += g[i]; });
                if (is_sparse) {
                    each([=](int64_t, int64_t place) { plane[place] = rounded<Stored>(sum[place]); });
                    each([=](int64_t, int64_t place) { sum[place] = 0; });
                } else {
                    convert(sum, plane, size);
                    std::fill_n(sum, size, T{});
                }
            } else {
                each([=](int64_t i, int64_t place) { plane[place] += g[i]; });
            }
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
    const Convert convert = converter(Dtype::float32, p.in.dtype);
    if (!scatter_maxima(pool_shape(p.in, p.out, layout), g, where, grad, convert)) {
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
