/// Images sampled at points: -1 and 1 are the outer edges of the first and the last element, and outside are zeros.
#include <algorithm>
#include <limits>

#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/cpu/vision_sample_rows.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/vision.hpp"

namespace diopi::cpu {

namespace {

template <class T>
const Sampler<T>& sampler_of(std::string_view mode, int64_t sides) {
    const auto& table = std::get<Samplers<T>>(sampler_table());
    if (mode == "nearest") return table.nearest;
    if (mode == "bicubic") return table.cubic;
    return sides == 3 ? table.trilinear : table.linear;
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
    const auto [sample_part, most] = sampler_of<T>(mode, sides);
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
    const bool is_large = numel(x.shape.subspan(2)) > std::numeric_limits<int32_t>::max();
    const bool is_double =
        is_large || x.dtype == Dtype::float64 || points.dtype == Dtype::float64 || y.dtype == Dtype::float64;
    return (is_double ? run<double> : run<float>)(ctx, y, x, points, how);
}

}  // namespace

#include "kernels/entries/vision_sample.inc"

}  // namespace diopi::cpu
