/// Maxima over adaptive windows. The first of equal elements in row-major order is the maximum; the last NaN wins.
#include <cmath>
#include <limits>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/pool.hpp"
#include "kernels/reference/pool_windows.hpp"

namespace diopi::reference {

diopiError_t adaptive_max_pool_with_indices(diopiContextHandle_t, std::string_view, size_t sides,
                                            diopiTensorHandle_t out, diopiTensorHandle_t indices,
                                            diopiConstTensorHandle_t input, diopiSize_t output_size) {
    return kernel([&] {
        const Operand<double> x(input, "input");
        Output<double> y(out, "out");
        Output<int64_t> places(indices, "indices?");
        require_adaptive_shape(sides, "out", y.shape(), x.shape(), output_size);
        if (places) require_shape("indices", places.shape(), y.shape());
        for_each_part(sides, x.shape(), y.shape(), [&](int64_t to, const Window& window) {
            double best = -std::numeric_limits<double>::infinity();
            int64_t place = -1;
            window.for_each([&](int64_t from) {
                if (place >= 0 && !(x[from] > best) && !std::isnan(x[from])) return;
                best = x[from];
                place = from - window.plane;
            });
            y[to] = best;
            if (places) places[to] = place;
        });
        y.store();
        places.store();
    });
}

diopiError_t adaptive_max_pool_backward(diopiContextHandle_t ctx, std::string_view, size_t sides,
                                        diopiTensorHandle_t grad_input, diopiConstTensorHandle_t grad_output,
                                        diopiConstTensorHandle_t input, diopiConstTensorHandle_t indices) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> grad(grad_output, "grad_output");
        const Operand<int64_t> places(indices, "indices");
        require_places(indices);
        const View x = view_of(input);
        Output<T> gx(grad_input, "grad_input", Output<T>::Start::kZero);
        require_shape("grad_input", gx.shape(), x.shape);
        require_adaptive_shape(sides, "grad_output", grad.shape(), x.shape);
        require_shape("indices", places.shape(), grad.shape());
        const auto area = [&](ShapeView shape) { return numel(shape.last(sides)); };
        add_at_places(numel(x.shape.first(x.shape.size() - sides)), area(x.shape), area(grad.shape()), grad, places,
                      gx);
        gx.store();
    });
}

#include "kernels/entries/pool_adaptive_max.inc"

}  // namespace diopi::reference
