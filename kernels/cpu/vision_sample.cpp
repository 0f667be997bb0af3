/// Images sampled at points: -1 and 1 are the outer edges of the first and the last element, and outside are zeros.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/instruction_sets.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/cpu/vision_taps.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/vision.hpp"

namespace diopi::cpu {

namespace {

/// The points whose taps are found together, once for all channels: as many as keep them in the first-level cache,
/// since each such part reads all planes.
constexpr int64_t points_of(int taps) { return 1024 / taps; }

/// An image's points and channels.
template <class T>
struct Samples {
    const T *image, *points;
    T* to;
    int64_t channels, count;       ///< count: of the points
    int64_t sides;                 ///< of a point
    int64_t depth, height, width;  ///< a depth of 1 where there are two sides
};

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
    int64_t at[kAll][kPoints];  ///< in a plane; negative: outside
    T weight[kAll][kPoints];
    bool all_inside = true;

    PointTaps(const Samples<T>& s, int64_t begin, int64_t n) {
        SideTaps<T, kPer, kPoints> x, y;
        SideTaps<T, kDeep, kPoints> z;
        const T* points = s.points + begin * s.sides;
        x.find(points, s.sides, n, s.width);
        y.find(points + 1, s.sides, n, s.height);
        s.sides == 3 ? z.find(points + 2, s.sides, n, s.depth) : z.stay(n);
        int outside = 0;
        for (int tap = 0; tap < kAll; ++tap) {
            const int i = tap / (kPer * kPer), j = tap / kPer % kPer, k = tap % kPer;
            for (int64_t p = 0; p < n; ++p) {
                const int64_t deep = z.first[p] + i, down = y.first[p] + j, along = x.first[p] + k;
                const bool is_inside =
                    (deep >= 0) & (deep < s.depth) & (down >= 0) & (down < s.height) & (along >= 0) & (along < s.width);
                at[tap][p] = is_inside ? (deep * s.height + down) * s.width + along : -1;
                weight[tap][p] = z.weight[i][p] * y.weight[j][p] * x.weight[k][p];
                outside |= static_cast<int>(!is_inside);
            }
        }
        all_inside = outside == 0;
    }

    void sum(const T* plane, int64_t n, T* to) const {
        for (int64_t p = 0; p < n; ++p) {
            T sum = 0;
            for (int tap = 0; tap < kAll; ++tap) {
                if (all_inside || at[tap][p] >= 0) sum += weight[tap][p] * plane[at[tap][p]];
            }
            to[p] = sum;
        }
    }
};

template <class T, int kPer, int kDeep>
void sample_points(const Samples<T>& s, int64_t begin, int64_t n) {
    const PointTaps<T, kPer, kDeep> taps(s, begin, n);
    const int64_t area = s.depth * s.height * s.width;
    for (int64_t c = 0; c < s.channels; ++c) taps.sum(s.image + c * area, n, s.to + c * s.count + begin);
}

/// The function for a mode, and its points.
template <class T>
std::pair<decltype(best<sample_points<T, 1, 1>>()), int64_t> sampler(std::string_view mode, int64_t sides) {
    if (mode == "nearest") return {best<sample_points<T, 1, 1>>(), points_of(1)};
    if (mode == "bicubic") return {best<sample_points<T, 4, 1>>(), points_of(16)};
    if (sides == 3) return {best<sample_points<T, 2, 2>>(), points_of(8)};
    return {best<sample_points<T, 2, 1>>(), points_of(4)};
}

template <class T>
void sample(ShapeView input, ShapeView grid, std::string_view mode, const T* x, const T* points, T* y) {
    const int64_t sides = grid.back();
    Samples<T> all{x,
                   points,
                   y,
                   input[1],
                   numel(grid.subspan(1, grid.size() - 2)),
                   sides,
                   sides == 3 ? input[2] : 1,
                   input[input.size() - 2],
                   input.back()};
    const auto [sample_part, most] = sampler<T>(mode, sides);
    const int64_t area = all.depth * all.height * all.width, parts = (all.count + most - 1) / most;
    const int64_t work = std::min(most, all.count) * (all.channels + 4) << sides;
    parallel_for(input[0] * parts, work, [&](int64_t first, int64_t last) {
        for (int64_t part = first; part < last; ++part) {
            const int64_t n = part / parts, begin = part % parts * most;
            Samples<T> one = all;
            one.image += n * all.channels * area;
            one.points += n * all.count * sides;
            one.to += n * all.channels * all.count;
            sample_part(one, begin, std::min(most, all.count - begin));
        }
    });
}

template <class T>
diopiError_t run(diopiContextHandle_t ctx, const View& out, const View& input, const View& grid,
                 std::string_view mode) {
    Staging staging(ctx);
    const auto *x = staging.in<T>(input), *points = staging.in<T>(grid);
    auto* y = staging.out<T>(out);
    if (staging.error() != diopiSuccess) return staging.error();
    sample(input.shape, grid.shape, mode, x, points, y);
    return staging.finish();
}

diopiError_t grid_sample(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, diopiConstTensorHandle_t grid, const char* mode) {
    const View y = view(out), x = view(input), points = view(grid);
    const std::string_view how = mode == nullptr ? "" : mode;
    const diopiError_t error = read_grid(op, y, x, points, how);
    if (error != diopiSuccess || y.numel == 0) return error;
    const bool is_double = x.dtype == Dtype::float64 || points.dtype == Dtype::float64 || y.dtype == Dtype::float64;
    return (is_double ? run<double> : run<float>)(ctx, y, x, points, how);
}

}  // namespace

#include "kernels/entries/vision_sample.inc"

}  // namespace diopi::cpu
