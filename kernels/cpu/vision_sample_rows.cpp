#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vision_sample_rows.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/vector_memory-inl.hpp"
#include "kernels/cpu/vision_sample_rows.hpp"
#include "kernels/cpu/vision_taps.hpp"

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace {

/// The points whose taps are found together, once for all channels: as many as keep them in the first-level cache,
/// since each such part reads all planes.
constexpr int64_t points_of(int taps) { return 1024 / taps; }

/// The kPer elements along one side around each point, maybe some outside.
template <class T, int kPer, int64_t kPoints>
struct SideTaps {
    int32_t first[kPoints];
    T weight[kPer][kPoints];

    /// The coordinates are `stride` apart.
    void find(const T* points, int64_t stride, int64_t n, int64_t size) {
        for (int64_t p = 0; p < n; ++p) {
            const T position = ((points[p * stride] + 1) * static_cast<T>(size) - 1) / 2;
            // NaN and points far away have all their elements outside.
            const T near = std::fabs(position) < T(1 << 30) ? position : T(-kPer - 1);
            const T low = kPer == 1 ? std::nearbyint(near) : std::floor(near), part = near - low;
            first[p] = static_cast<int32_t>(low) - (kPer == 4 ? 1 : 0);
            if constexpr (kPer == 1) {
                weight[0][p] = 1;
            } else if constexpr (kPer == 2) {
                weight[0][p] = 1 - part;
                weight[1][p] = part;
            } else {
                const std::array<T, 4> weights = cubic_weights(part);
                for (size_t k = 0; k < 4; ++k) weight[k][p] = weights[k];
            }
        }
    }
    /// The only element of a side of one.
    void stay(int64_t n) {
        std::fill_n(first, n, 0);
        std::fill_n(weight[0], n, T{1});
    }
};

/// The elements around each point, kPer along each side, of which the first has kDeep.
template <class T, int kPer, int kDeep>
struct PointTaps {
    static constexpr int kAll = kDeep * kPer * kPer;
    static constexpr int64_t kPoints = points_of(kAll);
    using Index = hn::TFromD<hn::RebindToSigned<Tag<T>>>;
    static_assert(kPoints % kLanesOf<T> == 0);

    HWY_ALIGN Index at[kAll][kPoints];  ///< in a plane; negative: outside
    HWY_ALIGN T weight[kAll][kPoints];
    bool all_inside = true;

    PointTaps(const Samples<T>& s, int64_t begin, int64_t n) {
        SideTaps<T, kPer, kPoints> x, y;
        SideTaps<T, kDeep, kPoints> z;
        const T* points = s.points + begin * s.sides;
        x.find(points, s.sides, n, s.width);
        y.find(points + 1, s.sides, n, s.height);
        s.sides == 3 ? z.find(points + 2, s.sides, n, s.depth) : z.stay(n);
        const int64_t whole = hwy::RoundUpTo(static_cast<size_t>(n), static_cast<size_t>(kLanesOf<T>));
        int outside = 0;
        for (int tap = 0; tap < kAll; ++tap) {
            const int i = tap / (kPer * kPer), j = tap / kPer % kPer, k = tap % kPer;
            for (int64_t p = 0; p < n; ++p) {
                const int64_t deep = z.first[p] + i, down = y.first[p] + j, along = x.first[p] + k;
                const bool is_inside =
                    (deep >= 0) & (deep < s.depth) & (down >= 0) & (down < s.height) & (along >= 0) & (along < s.width);
                at[tap][p] = static_cast<Index>(is_inside ? (deep * s.height + down) * s.width + along : -1);
                weight[tap][p] = z.weight[i][p] * y.weight[j][p] * x.weight[k][p];
                outside |= static_cast<int>(!is_inside);
            }
            // The lanes behind the last point.
            std::fill(at[tap] + n, at[tap] + whole, Index{0});
            std::fill(weight[tap] + n, weight[tap] + whole, T{0});
        }
        all_inside = outside == 0;
    }

    /// kAllInside: whether no element is outside.
    template <bool kAllInside>
    void sum(const T* plane, int64_t n, T* to) const {
        const Tag<T> d;
        const hn::RebindToSigned<Tag<T>> di;
        for (int64_t p = 0; p < n; p += kLanesOf<T>) {
            Vec<T> sum = hn::Zero(d);
            for (int tap = 0; tap < kAll; ++tap) {
                const auto index = hn::Load(di, at[tap] + p);
                const auto w = hn::Load(d, weight[tap] + p);
                if constexpr (kAllInside) {
                    sum = hn::MulAdd(hn::GatherIndex(d, plane, index), w, sum);
                } else {
                    const auto is_inside = hn::RebindMask(d, hn::Gt(index, hn::Set(di, Index{-1})));
                    const auto element = hn::GatherIndex(d, plane, hn::Max(index, hn::Zero(di)));
                    sum = hn::MulAdd(hn::IfThenElseZero(is_inside, element), w, sum);
                }
            }
            store_up_to(sum, to + p, std::min(kLanesOf<T>, n - p));
        }
    }
};

template <class T, int kPer, int kDeep>
void sample_points(const Samples<T>& s, int64_t begin, int64_t n) {
    using Taps = PointTaps<T, kPer, kDeep>;
    const Taps taps(s, begin, n);
    const int64_t area = s.depth * s.height * s.width;
    for (int64_t c = 0; c < s.channels; ++c) {
        const T* plane = s.image + c * area;
        T* to = s.to + c * s.count + begin;
        taps.all_inside ? taps.template sum<true>(plane, n, to) : taps.template sum<false>(plane, n, to);
    }
}

template <class T, int kPer, int kDeep>
constexpr Sampler<T> sampler() {
    return {sample_points<T, kPer, kDeep>, PointTaps<T, kPer, kDeep>::kPoints};
}
template <class T>
constexpr Samplers<T> samplers() {
    return {sampler<T, 1, 1>(), sampler<T, 2, 1>(), sampler<T, 2, 2>(), sampler<T, 4, 1>()};
}

SamplerTable Kernels() { return {samplers<float>(), samplers<double>()}; }

}  // namespace

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diopi::cpu {

DIOPI_BEST(SamplerTable, sampler_table)

}  // namespace diopi::cpu
#endif
