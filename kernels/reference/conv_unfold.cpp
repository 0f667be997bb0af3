/// Windows of images as columns, and windows along one dim.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/conv_groups.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/places.hpp"
#include "kernels/reference/sides.hpp"

namespace diopi::reference {

namespace {

/// The windows of images of two sides; all channels of all images are one group.
Geometry image_windows(ShapeView images, diopiSize_t kernel, const ConvArguments& arguments) {
    return windows_of(numel(images.first(images.size() - 2)), images.last(2), kernel, arguments);
}

/// The columns (N, C taps, windows) of images (N, C, H, W), or (C taps, windows) of (C, H, W).
Shape columns_shape(ShapeView images, const Geometry& g) {
    Shape shape(images.begin(), images.end() - 1);
    shape[shape.size() - 2] *= g.taps();
    shape.back() = g.out_area();
    return shape;
}

/// out[n, c * taps + k, p] = input[n, c, p * stride - padding + k * dilation], 0 outside; p counts the windows and k
/// the elements of one, both row by row.
diopiError_t unfold_image(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input, diopiSize_t kernel_size, diopiSize_t dilation,
                          diopiSize_t padding, diopiSize_t stride) {
    return kernel([&] {
        const Operand<double> x(input, "input");
        Output<double> y(out, "out");
        require_image(2, x.shape());
        const Geometry g = image_windows(x.shape(), kernel_size, {stride, padding, dilation, 1});
        require_shape("out", y.shape(), columns_shape(x.shape(), g));
        unfold(g, x.data(), {0, g.in_channels}, {0, g.out_rows()}, y.data());
        y.store();
    });
}

/// The adjoint: each element of out is the sum of the elements of input that unfold_image would take from it.
diopiError_t fold_image(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                        diopiSize_t output_size, diopiSize_t kernel_size, diopiSize_t dilation, diopiSize_t padding,
                        diopiSize_t stride) {
    return kernel([&] {
        const Operand<double> x(input, "input");
        Output<double> y(out, "out", Output<double>::Start::kZero);
        require_image(2, y.shape());
        require_shape("output_size", y.shape().last(2), numbers_of(2, output_size, "output_size"));
        const Geometry g = image_windows(y.shape(), kernel_size, {stride, padding, dilation, 1});
        require_shape("input", x.shape(), columns_shape(y.shape(), g));
        fold(g, x.data(), {0, g.in_channels}, {0, g.out_rows()}, y.data());
        y.store();
    });
}

/// Windows along one dim, whose elements are a new last dim. A 0-dim tensor is one window of its only element.
struct DimWindows {
    int64_t outer = 1, length = 1, inner = 1, count = 1, size, step;
    Shape shape;

    DimWindows(ShapeView input, int64_t dim, int64_t window, int64_t distance)
        : size(window), step(distance), shape(input.begin(), input.end()) {
        const auto d = static_cast<size_t>(require_dim(dim, std::max<int64_t>(std::ssize(input), 1)));
        if (!input.empty()) length = input[d];
        if (size < 0 || size > length || step < 1) {
            refuse("size is " + std::to_string(size) + " and step is " + std::to_string(step) +
                   ", wanted a size of 0 to " + std::to_string(length) + " and a step of 1 or more");
        }
        count = (length - size) / step + 1;
        if (!input.empty()) {
            outer = numel(input.first(d));
            inner = numel(input.subspan(d + 1));
            shape[d] = count;
        }
        shape.push_back(size);
    }

    /// Calls visit(element of the windows, element of the tensor).
    template <class Visit>
    void for_each(Visit&& visit) const {
        int64_t k = 0;
        for (int64_t o = 0; o < outer; ++o) {
            for (int64_t window = 0; window < count; ++window) {
                const int64_t first = (o * length + window * step) * inner;
                for (int64_t i = 0; i < inner; ++i) {
                    for (int64_t j = 0; j < size; ++j) visit(k++, first + j * inner + i);
                }
            }
        }
    }
};

/// out[.., window, .., j] = input[.., window * step + j, ..]
diopiError_t unfold_dim(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                        int64_t dim, int64_t size, int64_t step) {
    return kernel([&] {
        require_same_dtype("out", out, input);
        in_kind(view_of(input).dtype, [&]<class T>(T) {
            const Operand<T> x(input, "input");
            Output<T> y(out, "out");
            const DimWindows windows(x.shape(), dim, size, step);
            require_shape("out", y.shape(), windows.shape);
            windows.for_each([&](int64_t k, int64_t at) { y[k] = x[at]; });
            y.store();
        });
    });
}

/// grad_input[.., window * step + j, ..] += grad_output[.., window, .., j]
diopiError_t unfold_dim_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                                 diopiConstTensorHandle_t grad_output, diopiSize_t input_sizes, int64_t dim,
                                 int64_t size, int64_t step) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> g(grad_output, "grad_output");
        Output<T> y(grad_input, "grad_input", Output<T>::Start::kZero);
        require_shape("grad_input", y.shape(), list_of(input_sizes));
        const DimWindows windows(y.shape(), dim, size, step);
        require_shape("grad_output", g.shape(), windows.shape);
        windows.for_each([&](int64_t k, int64_t at) { y[at] = y[at] + g[k]; });
        y.store();
    });
}

}  // namespace

#include "kernels/entries/conv_unfold.inc"

}  // namespace diopi::reference
