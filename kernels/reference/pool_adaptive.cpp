/// Means over adaptive windows; all dimensions before the sides count planes. A plane has a depth, a height and a
/// width; where the function's images have fewer sides, the first ones have one element.
#include "kernels/reference/pool.hpp"

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/pool_windows.hpp"

namespace diopi::reference {

diopiError_t adaptive_avg_pool(diopiContextHandle_t, std::string_view, size_t sides, diopiTensorHandle_t out,
                               diopiConstTensorHandle_t input, diopiSize_t output_size) {
    return kernel([&] {
        const Operand<double> x(input, "input");
        Output<double> y(out, "out");
        require_adaptive_shape(sides, "out", y.shape(), x.shape(), output_size);
        for_each_part(sides, x.shape(), y.shape(), [&](int64_t to, const Window& window) {
            double sum = 0.0;
            window.for_each([&](int64_t from) { sum += x[from]; });
            y[to] = sum / static_cast<double>(window.size());
        });
        y.store();
    });
}

diopiError_t adaptive_avg_pool_backward(diopiContextHandle_t ctx, std::string_view, size_t sides,
                                        diopiTensorHandle_t grad_input, diopiConstTensorHandle_t grad_output,
                                        diopiConstTensorHandle_t input) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> g(grad_output, "grad_output");
        const View x = view_of(input);
        Output<T> gx(grad_input, "grad_input", Output<T>::Start::kZero);
        require_shape("grad_input", gx.shape(), x.shape);
        require_adaptive_shape(sides, "grad_output", g.shape(), x.shape);
        for_each_part(sides, x.shape, g.shape(), [&](int64_t from, const Window& window) {
            const T share = g[from] / static_cast<double>(window.size());
            window.for_each([&](int64_t to) { gx[to] += share; });
        });
        gx.store();
    });
}

#include "kernels/entries/pool_adaptive.inc"

}  // namespace diopi::reference
