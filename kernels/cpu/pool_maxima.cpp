#include "kernels/cpu/pool_maxima.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <type_traits>
#include <vector>

#include "core/half.hpp"
#include "kernels/cpu/convert.hpp"
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

/// Writes elements of a half type, each to its place in a plane of zeros; false when two of them that are not 0 have
/// one place.
template <class Stored>
bool place_alone(int64_t count, int64_t lanes, const int64_t* indices, const Stored* g, Stored* plane) {
    const auto is_zero = [](Stored x) { return (x.bits & 0x7fff) == 0; };
    bool are_alone = true;
    const auto place = [&](int64_t i, int64_t at) {
        if (is_zero(g[i])) return;
        are_alone = are_alone && is_zero(plane[at]);
        plane[at] = g[i];
    };
    // Windows that overlap have one place soon.
    constexpr int64_t kPart = 64;
    for (int64_t i = 0; i < count && are_alone; i += kPart) {
        for_each_place(std::min(kPart, count - i), lanes, indices + i * lanes,
                       [&](int64_t k, int64_t at) { place(i * lanes + k, at); });
    }
    return are_alone;
}

/// Adds every element of grad_out where its index points; false when an index lies outside of its plane. Elements of a
/// half type that have one place are added up in float32, in a plane that is 0 before and after, and rounded by
/// `convert`.
template <class T, class Stored>
bool scatter_maxima(const PoolShape& s, const Stored* grad_out, const int64_t* indices, Stored* grad_in,
                    [[maybe_unused]] Convert convert) {
    constexpr bool kRounds = !std::is_same_v<T, Stored>;
    const int64_t area = area_of(s.in), out_area = area_of(s.out), size = area * s.lanes, given = out_area * s.lanes;
    std::atomic<bool> sound = true;
    parallel_for(s.count, size + given, [&](int64_t first, int64_t last) {
        std::vector<T> sums;
        for (int64_t n = first; n < last; ++n) {
            Stored* plane = grad_in + n * size;
            const Stored* g = grad_out + n * given;
            const int64_t* where = indices + n * given;
            std::fill_n(plane, size, Stored{});
            if (!are_inside(where, given, area)) {
                sound = false;
                continue;
            }
            const auto each = [&](const auto& visit) { for_each_place(out_area, s.lanes, where, visit); };
            if constexpr (kRounds) {
                if (place_alone(out_area, s.lanes, where, g, plane)) continue;
                sums.resize(static_cast<size_t>(size));
                each([sum = sums.data(), g](int64_t i, int64_t place) { sum[place] += to_float(g[i]); });
                convert(sums.data(), plane, size);
                std::ranges::fill(sums, T{});
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
    const auto* g = staging.in<Stored>(p.out.view(), layout);
    const auto* where = staging.in<int64_t>(p.indices.view(), layout);
    auto* grad = staging.out<Stored>(p.in.view(), layout);
    if (staging.error() != diopiSuccess) return staging.error();
    const Convert convert = converter(Dtype::float32, p.in.dtype);
    if (!scatter_maxima<T>(pool_shape(p.in, p.out, layout), g, where, grad, convert)) {
        return fail(diopiErrorOccurred, std::string(op) + ": indices holds a place outside of the plane of input");
    }
    return staging.finish();
}

}  // namespace

diopiError_t add_at_maxima(diopiContextHandle_t ctx, std::string_view op, const PoolImages& p) {
    // Elements of another dtype than the sums are converted first.
    const Dtype dtype = p.in.dtype == p.out.dtype || p.in.dtype == Dtype::float64 ? p.in.dtype : Dtype::float32;
    const auto run = dtype == Dtype::float64    ? run_max_backward<double, double>
                     : dtype == Dtype::bfloat16 ? run_max_backward<float, Bfloat16>
                     : dtype == Dtype::float16  ? run_max_backward<float, Half>
                                                : run_max_backward<float, float>;
    return run(ctx, op, p);
}

}  // namespace diopi::cpu
