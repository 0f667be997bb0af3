/// Means over adaptive windows; all dimensions before the sides count planes. A plane has a depth, a height and a
/// width; where the function's images have fewer sides, the first ones have one element.
#include "kernels/reference/pool.hpp"

#include <algorithm>
#include <array>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/sides.hpp"

namespace diopi::reference {

namespace {

/// Part `i` of `parts` of a side: from floor(i * size / parts) to ceil((i + 1) * size / parts).
struct Part {
    int64_t begin, end;
    Part(int64_t i, int64_t size, int64_t parts) : begin(i * size / parts), end(((i + 1) * size + parts - 1) / parts) {}
    [[nodiscard]] int64_t length() const { return end - begin; }
};

/// Depth, height and width of a plane, or of the parts that it falls into.
using Extent = std::array<int64_t, 3>;
Extent extent_of(size_t sides, ShapeView shape) {
    Extent extent{1, 1, 1};
    std::ranges::copy(shape.last(sides), extent.end() - static_cast<std::ptrdiff_t>(sides));
    return extent;
}

/// A window of one plane: calls visit(offset in the input) for each of its elements.
struct Window {
    int64_t plane;  ///< offset of its plane in the input
    Extent in;
    Part z, y, x;

    [[nodiscard]] int64_t size() const { return z.length() * y.length() * x.length(); }
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (int64_t d = z.begin; d < z.end; ++d) {
            for (int64_t r = y.begin; r < y.end; ++r) {
                for (int64_t c = x.begin; c < x.end; ++c) visit(plane + (d * in[1] + r) * in[2] + c);
            }
        }
    }
};

/// Calls visit(output offset, window) for each window of each plane.
template <class Visit>
void for_each_window(size_t sides, ShapeView in, ShapeView out, Visit&& visit) {
    const int64_t planes = numel(in.first(in.size() - sides));
    const Extent from = extent_of(sides, in), to = extent_of(sides, out);
    int64_t at = 0;
    for (int64_t p = 0; p < planes; ++p) {
        const int64_t plane = p * from[0] * from[1] * from[2];
        for (int64_t h = 0; h < to[0]; ++h) {
            for (int64_t i = 0; i < to[1]; ++i) {
                for (int64_t j = 0; j < to[2]; ++j) {
                    visit(at++, Window{plane, from, Part(h, from[0], to[0]), Part(i, from[1], to[1]),
                                       Part(j, from[2], to[2])});
                }
            }
        }
    }
}

void require_adaptive_shape(size_t sides, std::string_view argument, ShapeView out, ShapeView in) {
    require_image(sides, in);
    Shape wanted(in.begin(), in.end());
    if (out.size() == in.size()) {
        std::ranges::copy(out.last(sides), wanted.end() - static_cast<std::ptrdiff_t>(sides));
    }
    require_shape(argument, out, wanted);
    if (numel(in.last(sides)) == 0 && numel(out) > 0) {
        refuse("input has shape " + to_string(in) + ", wanted at least one element in each plane");
    }
}

}  // namespace

diopiError_t adaptive_avg_pool(diopiContextHandle_t, std::string_view, size_t sides, diopiTensorHandle_t out,
                               diopiConstTensorHandle_t input, diopiSize_t output_size) {
    return kernel([&] {
        const Operand<double> x(input, "input");
        Output<double> y(out, "out");
        require_adaptive_shape(sides, "out", y.shape(), x.shape());
        const Shape wanted = numbers_of(sides, output_size, "output_size");
        if (!same_shape(y.shape().last(sides), wanted)) {
            refuse("output_size is " + to_string(wanted) + ", wanted the last sizes of out, " + to_string(y.shape()));
        }
        for_each_window(sides, x.shape(), y.shape(), [&](int64_t to, const Window& window) {
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
        for_each_window(sides, x.shape, g.shape(), [&](int64_t from, const Window& window) {
            const T share = g[from] / static_cast<double>(window.size());
            window.for_each([&](int64_t to) { gx[to] += share; });
        });
        gx.store();
    });
}

#include "kernels/entries/pool_adaptive.inc"

}  // namespace diopi::reference
