/// Means over windows: padding counts as 0. The sum is divided by divisor_override, else by the elements of the window,
/// those of the padding included or not. A window without elements has the mean 0.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/pool.hpp"
#include "kernels/reference/pool_windows.hpp"

namespace diopi::reference {

namespace {

/// The arguments behind the window's.
struct Divisor {
    bool count_include_pad;
    const int64_t* override_by;

    void require() const {
        if (override_by != nullptr && *override_by == 0) refuse("divisor_override is 0, wanted another number");
    }
    [[nodiscard]] double of(const Window& window, int64_t padded_size) const {
        if (override_by != nullptr) return static_cast<double>(*override_by);
        return static_cast<double>(count_include_pad ? padded_size : window.size());
    }
};

/// Calls visit(output offset, window, divisor) for each window that has elements.
template <class Visit>
void for_each_mean(const PoolGeometry& g, const Divisor& divisor, Visit&& visit) {
    const Extent in{g.z.in, g.y.in, g.x.in}, out{g.z.out, g.y.out, g.x.out};
    const auto part = [](const PoolSide& side, int64_t i) { return Part(side.begin(i), side.end(i)); };
    for_each_position(g.planes, out, [&](int64_t at, int64_t p, const Extent& i) {
        const Window window{p * g.in_area(), in, part(g.z, i[0]), part(g.y, i[1]), part(g.x, i[2])};
        if (window.size() == 0) return;
        visit(at, window, divisor.of(window, g.z.size(i[0]) * g.y.size(i[1]) * g.x.size(i[2])));
    });
}

}  // namespace

diopiError_t avg_pool(diopiContextHandle_t, std::string_view, size_t sides, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input, diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding,
                      bool ceil_mode, bool count_include_pad, const int64_t* divisor_override) {
    return kernel([&] {
        const Operand<double> x(input, "input");
        Output<double> y(out, "out", Output<double>::Start::kZero);
        const PoolGeometry g(sides, x.shape(), {kernel_size, stride, padding, {}, ceil_mode});
        const Divisor divisors{count_include_pad, divisor_override};
        divisors.require();
        require_shape("out", y.shape(), g.output_shape);
        for_each_mean(g, divisors, [&](int64_t to, const Window& window, double divisor) {
            double sum = 0;
            window.for_each([&](int64_t from) { sum += x[from]; });
            y[to] = sum / divisor;
        });
        y.store();
    });
}

diopiError_t avg_pool_backward(diopiContextHandle_t ctx, std::string_view, size_t sides, diopiTensorHandle_t grad_input,
                               diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                               diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding, bool ceil_mode,
                               bool count_include_pad, const int64_t* divisor_override) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> grad(grad_output, "grad_output");
        const View x = view_of(input);
        Output<T> gx(grad_input, "grad_input", Output<T>::Start::kZero);
        const PoolGeometry g(sides, x.shape, {kernel_size, stride, padding, {}, ceil_mode});
        const Divisor divisors{count_include_pad, divisor_override};
        divisors.require();
        require_shape("grad_output", grad.shape(), g.output_shape);
        require_shape("grad_input", gx.shape(), x.shape);
        for_each_mean(g, divisors, [&](int64_t from, const Window& window, double divisor) {
            const T share = grad[from] / divisor;
            window.for_each([&](int64_t to) { gx[to] += share; });
        });
        gx.store();
    });
}

#include "kernels/entries/pool_avg.inc"

}  // namespace diopi::reference
