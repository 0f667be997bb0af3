/// Images sampled at points: -1 and 1 are the outer edges of the first and the last element, and outside are zeros.
#include <bit>
#include <cmath>
#include <string>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/vision_taps.hpp"

namespace diopi::reference {

namespace {

/// The nearest element, the even one in a tie; both where the error may reach a tie.
template <class T>
Taps<T> nearest_taps(const T& position) {
    const double value = value_of(position), error = error_of(position);
    const double at = std::nearbyint(value);
    Taps<T> taps{{static_cast<int64_t>(at), T(1)}};
    for (const double other : {std::nearbyint(value - error), std::nearbyint(value + error)}) {
        if (other == at) continue;
        taps[0].weight = with_error(T(1), 1, 1);
        taps.push_back({static_cast<int64_t>(other), with_error(T(0), 0, 1)});
    }
    return taps;
}

/// Whether every order of the formula of a position is exact: it has few digits, and the side is a power of two.
bool is_exact(double point, int64_t size) {
    constexpr int kDigits = 7;
    const double scaled = std::ldexp(point, kDigits);
    return std::fabs(point) <= 1 && scaled == std::trunc(scaled) && size <= (1 << kDigits) &&
           std::has_single_bit(static_cast<uint64_t>(size));
}

/// The taps inside of the image along a side.
template <class T>
Taps<T> taps_at(double point, int64_t size, std::string_view mode) {
    const T scaled = (T(point) + T(1)) * T(static_cast<double>(size)) - T(1);
    const double error = is_exact(point, size) ? 0 : error_of(scaled);
    const T position = with_error(scaled, value_of(scaled) / 2, error / 2);
    if (!(std::fabs(value_of(position)) < 0x1p50)) return {};
    Taps<T> taps = mode == "nearest"   ? nearest_taps(position)
                   : mode == "bicubic" ? cubic_taps(position)
                                       : linear_taps(position);
    std::erase_if(taps, [&](const Tap<T>& tap) { return tap.at < 0 || tap.at >= size; });
    return taps;
}

void require_operands(ShapeView input, ShapeView grid, ShapeView out, std::string_view mode) {
    const size_t sides = input.size() - 2;
    if (input.size() != 4 && input.size() != 5) {
        refuse("input has shape " + to_string(input) + ", wanted (N, C, H, W) or (N, C, D, H, W)");
    }
    if (mode != "bilinear" && mode != "nearest" && (mode != "bicubic" || sides != 2)) {
        refuse("mode is '" + std::string(mode) + "', wanted bilinear, nearest, or bicubic for two sides");
    }
    if (numel(input.last(sides)) == 0) refuse("input has shape " + to_string(input) + ", wanted sides of at least 1");
    if (grid.size() != input.size() || grid[0] != input[0] || grid.back() != static_cast<int64_t>(sides)) {
        refuse("grid has shape " + to_string(grid) + ", wanted (N, *, " + std::to_string(sides) + ")");
    }
    Shape wanted{input[0], input[1]};
    wanted.insert(wanted.end(), grid.begin() + 1, grid.end() - 1);
    require_shape("out", out, wanted);
}

/// The coordinates of a point are those of the last side first.
diopiError_t grid_sample(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, diopiConstTensorHandle_t grid, const char* mode) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> x(input, "input");
        const Operand<double> points(grid, "grid");
        WriteOnly<T> y(out, "out");
        const std::string_view how = mode == nullptr ? "" : mode;
        require_operands(x.shape(), points.shape(), y.shape(), how);
        const int64_t sides = x.rank() - 2, channels = x.size(1), count = numel(y.shape().last(y.shape().size() - 2));
        const int64_t area = numel(x.shape().last(x.shape().size() - 2));
        for (int64_t at = 0; at < x.size(0) * count; ++at) {
            Taps<T> taps{{0, T(1)}};  // in the whole plane
            for (int64_t d = 0; d < sides; ++d) {
                const int64_t size = x.size(2 + d);
                Taps<T> wider;
                for (const Tap<T>& own : taps_at<T>(points[(at + 1) * sides - 1 - d], size, how)) {
                    for (const Tap<T>& tap : taps) wider.push_back({tap.at * size + own.at, tap.weight * own.weight});
                }
                taps = std::move(wider);
            }
            for (int64_t c = 0; c < channels; ++c) {
                const int64_t plane = at / count * channels + c;
                Sum<T> sum;
                for (const Tap<T>& tap : taps) sum += tap.weight * x[plane * area + tap.at];
                y[plane * count + at % count] = sum.value();
            }
        }
        y.store();
    });
}

}  // namespace

#include "kernels/entries/vision_sample.inc"

}  // namespace diopi::reference
