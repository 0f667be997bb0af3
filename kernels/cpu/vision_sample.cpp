/// Images sampled at points: -1 and 1 are the outer edges of the first and the last element, and outside are zeros.
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/cpu/vision_taps.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/vision.hpp"

namespace diopi::cpu {

namespace {

enum class Mode : uint8_t { linear, nearest, cubic };

/// The elements along one side, maybe some outside.
template <class T>
struct SideTaps {
    int64_t first = 0, count = 0;
    std::array<T, 4> weights{};

    SideTaps(T point, int64_t size, Mode mode) {
        const T position = ((point + 1) * static_cast<T>(size) - 1) / 2;
        if (!(std::fabs(position) < T(1 << 30))) return;
        const T low = mode == Mode::nearest ? std::nearbyint(position) : std::floor(position), part = position - low;
        first = static_cast<int64_t>(low) - (mode == Mode::cubic ? 1 : 0);
        count = mode == Mode::nearest ? 1 : mode == Mode::linear ? 2 : 4;
        if (mode == Mode::nearest)
            weights = {1};
        else if (mode == Mode::linear)
            weights = {1 - part, part};
        else
            weights = cubic_weights(part);
    }
};

/// Adds the elements of a plane around one point, whose coordinates are those of the last side first.
template <class T>
void add_point(const T* point, ShapeView sizes, Mode mode, Taps<T>& taps) {
    const SideTaps<T> x(point[0], sizes.back(), mode), y(point[1], sizes[sizes.size() - 2], mode);
    const bool has_depth = sizes.size() == 3;
    const SideTaps<T> z(has_depth ? point[2] : T{0}, has_depth ? sizes[0] : 1, has_depth ? mode : Mode::nearest);
    const int64_t depth = has_depth ? sizes[0] : 1, height = sizes[sizes.size() - 2], width = sizes.back();
    for (int64_t i = std::max<int64_t>(0, -z.first); i < std::min(z.count, depth - z.first); ++i) {
        for (int64_t j = std::max<int64_t>(0, -y.first); j < std::min(y.count, height - y.first); ++j) {
            const T weight = z.weights[static_cast<size_t>(i)] * y.weights[static_cast<size_t>(j)];
            const int64_t row = ((z.first + i) * height + y.first + j) * width + x.first;
            for (int64_t k = std::max<int64_t>(0, -x.first); k < std::min(x.count, width - x.first); ++k) {
                taps.add(row + k, weight * x.weights[static_cast<size_t>(k)]);
            }
        }
    }
    taps.next();
}

/// The taps of some points are found once for all channels.
template <class T>
void sample(ShapeView input, ShapeView grid, Mode mode, const T* x, const T* points, T* y) {
    constexpr int64_t kPoints = 128;
    const ShapeView sizes = input.last(input.size() - 2);
    const int64_t area = numel(sizes), channels = input[1], sides = grid.back();
    const int64_t count = numel(grid.subspan(1, grid.size() - 2)), parts = (count + kPoints - 1) / kPoints;
    parallel_for(input[0] * parts, kPoints * (channels + 4) << sides, [&](int64_t first, int64_t last) {
        Taps<T> taps;
        taps.at.reserve(kPoints << sides);
        taps.weight.reserve(kPoints << sides);
        for (int64_t part = first; part < last; ++part) {
            const int64_t n = part / parts, begin = part % parts * kPoints, end = std::min(begin + kPoints, count);
            taps.begin.resize(1);
            taps.at.clear();
            taps.weight.clear();
            for (int64_t p = begin; p < end; ++p) add_point(points + (n * count + p) * sides, sizes, mode, taps);
            for (int64_t c = 0; c < channels; ++c) {
                const T* plane = x + (n * channels + c) * area;
                T* to = y + (n * channels + c) * count + begin;
                for (int64_t p = 0; p < taps.count(); ++p) to[p] = taps.sum(p, plane);
            }
        }
    });
}

template <class T>
diopiError_t run(diopiContextHandle_t ctx, const View& out, const View& input, const View& grid, Mode mode) {
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
    const Mode given = how == "nearest" ? Mode::nearest : how == "bicubic" ? Mode::cubic : Mode::linear;
    return (is_double ? run<double> : run<float>)(ctx, y, x, points, given);
}

}  // namespace

#include "kernels/entries/vision_sample.inc"

}  // namespace diopi::cpu
