/// Maxima over windows; all dimensions before the sides count planes. A plane has a depth, a height and a width; where
/// the function's images have fewer sides, the first ones have one element and a window of one.
#include "kernels/reference/pool.hpp"

#include <algorithm>
#include <limits>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/pool_windows.hpp"

namespace diopi::reference {

namespace {

/// best = value where value is greater or NaN; then the place too, if places are wanted. Taps come in row-major order,
/// so that the first of equal maxima wins, and the last NaN.
template <int64_t Stride>
void take_greater(const double* __restrict from, int64_t stride, int64_t n, int64_t place, double* __restrict best,
                  int64_t* __restrict places) {
    const int64_t step = Stride > 0 ? Stride : stride;
    if (places == nullptr) {
        for (int64_t k = 0; k < n; ++k) {
            const double value = from[k * step];
            best[k] = (value > best[k]) | (value != value) ? value : best[k];
        }
        return;
    }
    for (int64_t k = 0; k < n; ++k) {
        const double value = from[k * step];
        const bool taken = (value > best[k]) | (value != value);
        best[k] = taken ? value : best[k];
        places[k] = taken ? place + k * step : places[k];
    }
}

/// One tap of one output row of one plane; `row` is the input row that it reads.
void max_tap(const PoolGeometry& g, const double* plane, int64_t row, int64_t tap, double* best, int64_t* places) {
    const int64_t low = g.x.low(tap);
    const int64_t n = g.x.high(tap) - low;
    const int64_t place = row * g.x.in + g.x.source(low, tap);
    const auto take = g.x.stride == 1 ? take_greater<1> : g.x.stride == 2 ? take_greater<2> : take_greater<0>;
    if (n > 0) take(plane + place, g.x.stride, n, place, best + low, places == nullptr ? nullptr : places + low);
}

/// One output row of one plane, tap by tap.
void max_row(const PoolGeometry& g, const double* plane, int64_t oz, int64_t oy, double* best, int64_t* places) {
    std::fill_n(best, g.x.out, -std::numeric_limits<double>::infinity());
    const int64_t first_row = g.z.first_inside(oz) * g.y.in + g.y.first_inside(oy);
    for (int64_t ox = 0; places != nullptr && ox < g.x.out; ++ox) {
        places[ox] = first_row * g.x.in + g.x.first_inside(ox);
    }
    for (int64_t h = 0; h < g.z.kernel; ++h) {
        const int64_t iz = g.z.source(oz, h);
        if (iz < 0 || iz >= g.z.in) continue;
        for (int64_t i = 0; i < g.y.kernel; ++i) {
            const int64_t iy = g.y.source(oy, i);
            if (iy < 0 || iy >= g.y.in) continue;
            for (int64_t j = 0; j < g.x.kernel; ++j) max_tap(g, plane, iz * g.y.in + iy, j, best, places);
        }
    }
}

}  // namespace

diopiError_t max_pool_with_indices(diopiContextHandle_t, std::string_view, size_t sides, diopiTensorHandle_t out,
                                   diopiTensorHandle_t indices, diopiConstTensorHandle_t input, diopiSize_t kernel_size,
                                   diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation, bool ceil_mode) {
    return kernel([&] {
        const Operand<double> x(input, "input");
        Output<double> y(out, "out");
        Output<int64_t> places(indices, "indices?");
        const PoolGeometry g(sides, x.shape(), {kernel_size, stride, padding, dilation, ceil_mode});
        require_shape("out", y.shape(), g.output_shape);
        if (places) require_shape("indices", places.shape(), g.output_shape);
        int64_t at = 0;
        for (int64_t p = 0; p < g.planes; ++p) {
            for (int64_t oz = 0; oz < g.z.out; ++oz) {
                for (int64_t oy = 0; oy < g.y.out; ++oy, at += g.x.out) {
                    max_row(g, x.data() + p * g.in_area(), oz, oy, y.data() + at,
                            places ? places.data() + at : nullptr);
                }
            }
        }
        y.store();
        places.store();
    });
}

diopiError_t max_pool_backward(diopiContextHandle_t ctx, std::string_view, size_t sides, diopiTensorHandle_t grad_input,
                               diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                               diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation,
                               bool ceil_mode, diopiConstTensorHandle_t indices) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> grad(grad_output, "grad_output");
        const Operand<int64_t> places(indices, "indices");
        require_places(indices);
        const View x = view_of(input);
        Output<T> gx(grad_input, "grad_input", Output<T>::Start::kZero);
        const PoolGeometry g(sides, x.shape, {kernel_size, stride, padding, dilation, ceil_mode});
        require_shape("grad_output", grad.shape(), g.output_shape);
        require_shape("indices", places.shape(), g.output_shape);
        require_shape("grad_input", gx.shape(), x.shape);
        add_at_places(g.planes, g.in_area(), g.out_area(), grad, places, gx);
        gx.store();
    });
}

#include "kernels/entries/pool_max.inc"

}  // namespace diopi::reference
