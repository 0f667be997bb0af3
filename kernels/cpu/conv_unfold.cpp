/// Windows of images as columns (conv_columns.hpp), and windows along one dim: copies of views.
#include "kernels/cpu/conv_columns.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/shape_order.hpp"

namespace diopi::cpu {

namespace {

struct WindowArguments {
    diopiSize_t kernel_size, dilation, padding, stride;
};

/// The windows of images (N, C, H, W) or (C, H, W), whose channels are all one group, and their columns' shape.
diopiError_t read_columns(std::string_view op, std::string_view argument, const View& images, const WindowArguments& a,
                          ConvShape& shape, Shape& columns) {
    if (const diopiError_t error = check_computable(op, argument, images); error != diopiSuccess) return error;
    if (!Images::fits(2, images)) return wrong_shape(op, argument, images.shape, image_shapes(2));
    Window& w = shape.window;
    w = {sides_of(2, a.kernel_size, {1, 1, 1}), sides_of(2, a.stride, {1, 1, 1}), sides_of(2, a.padding, {0, 0, 0}),
         sides_of(2, a.dilation, {1, 1, 1})};
    if (!w.is_sound()) {
        return refuse(op, "wanted kernel_size, stride and dilation of at least 1 and a padding of at least 0");
    }
    const Images all(2, images);
    shape.channels = all.count() * all.channels(), shape.in = all.sides();
    for (size_t side = 0; side < kMostSides; ++side) shape.out[side] = w.places(side, shape.in[side]);
    if (shape.out_area() == 0) return refuse(op, "no window fits into the padded image");
    columns.assign(images.shape.begin(), images.shape.end() - 1);
    columns[columns.size() - 2] *= w.taps();
    columns.back() = shape.out_area();
    return diopiSuccess;
}

template <class T>
diopiError_t unfold_images(diopiContextHandle_t ctx, const ConvShape& shape, const View& out, const View& images) {
    Staging staging(ctx);
    const auto* x = staging.in<T>(images);
    auto* y = staging.out<T>(out);
    if (staging.error() != diopiSuccess) return staging.error();
    image_to_columns(shape, shape.group_in(), x, y);
    return staging.finish();
}

template <class T>
diopiError_t fold_images(diopiContextHandle_t ctx, const ConvShape& shape, const View& images, const View& columns) {
    Staging staging(ctx);
    const auto* x = staging.in<T>(columns);
    auto* y = staging.out<T>(images);
    if (staging.error() != diopiSuccess) return staging.error();
    columns_to_image(shape, shape.group_in(), x, y);
    return staging.finish();
}

diopiError_t unfold_image(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input, diopiSize_t kernel_size, diopiSize_t dilation,
                          diopiSize_t padding, diopiSize_t stride) {
    const View x = view(input), y = view(out);
    ConvShape shape;
    Shape columns;
    diopiError_t error = read_columns(op, "input", x, {kernel_size, dilation, padding, stride}, shape, columns);
    if (error == diopiSuccess) error = check_like(op, "out", y, columns, x.dtype);
    if (error != diopiSuccess || y.numel == 0) return error;
    auto* run = unfold_images<float>;
    if (x.dtype == Dtype::float64) run = unfold_images<double>;
    if (x.dtype == Dtype::float16) run = unfold_images<Half>;
    if (x.dtype == Dtype::bfloat16) run = unfold_images<Bfloat16>;
    return run(ctx, shape, y, x);
}

diopiError_t fold_image(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                        diopiConstTensorHandle_t input, diopiSize_t output_size, diopiSize_t kernel_size,
                        diopiSize_t dilation, diopiSize_t padding, diopiSize_t stride) {
    const View x = view(input), y = view(out);
    ConvShape shape;
    Shape columns;
    diopiError_t error = read_columns(op, "out", y, {kernel_size, dilation, padding, stride}, shape, columns);
    if (error == diopiSuccess && sides_of(2, output_size, {1, 1, 1}) != shape.in) {
        error = wrong_shape(op, "out", y.shape, "an image of output_size " + to_string(list_of(output_size)));
    }
    if (error == diopiSuccess) error = check_like(op, "input", x, columns, y.dtype);
    if (error != diopiSuccess || y.numel == 0) return error;
    return (x.dtype == Dtype::float64 ? fold_images<double> : fold_images<float>)(ctx, shape, y, x);
}

/// Windows along one dim of a tensor (outer, length, inner), whose elements are a new last dim. A 0-dim tensor is one
/// window of its only element.
struct DimWindows {
    size_t dim = 0;
    int64_t outer = 1, length = 1, inner = 1, count = 1, size = 0, step = 1;
    Shape shape{}, strides{};

    /// The windows of x. They and x share their elements.
    [[nodiscard]] View of(const View& x) {
        strides.assign(x.strides.begin(), x.strides.end());
        const int64_t stride = strides.empty() ? 1 : strides[dim];
        if (!strides.empty()) strides[dim] *= step;
        strides.push_back(stride);
        return {x.data, x.dtype, shape, strides, numel(shape)};
    }
};

diopiError_t read_dim_windows(std::string_view op, ShapeView input, int64_t dim, DimWindows& windows) {
    const diopiError_t error = read_dim(op, dim, std::max<int64_t>(std::ssize(input), 1), windows.dim);
    if (error != diopiSuccess) return error;
    if (!input.empty()) windows.length = input[windows.dim];
    if (windows.size < 0 || windows.size > windows.length || windows.step < 1 || std::ssize(input) >= kMaxRank) {
        return refuse(op, "wanted a size of 0 to " + std::to_string(windows.length) +
                              ", a step of 1 or more and less than " + std::to_string(kMaxRank) + " dims");
    }
    windows.count = (windows.length - windows.size) / windows.step + 1;
    windows.shape.assign(input.begin(), input.end());
    if (!input.empty()) {
        windows.outer = numel(input.first(windows.dim));
        windows.inner = numel(input.subspan(windows.dim + 1));
        windows.shape[windows.dim] = windows.count;
    }
    windows.shape.push_back(windows.size);
    return diopiSuccess;
}

diopiError_t unfold_dim(diopiContextHandle_t, std::string_view op, diopiTensorHandle_t out,
                        diopiConstTensorHandle_t input, int64_t dim, int64_t size, int64_t step) {
    const View x = view(input), y = view(out);
    DimWindows windows{.size = size, .step = step};
    diopiError_t error = read_dim_windows(op, x.shape, dim, windows);
    if (error == diopiSuccess) error = check_like(op, "out", y, windows.shape, x.dtype);
    if (error != diopiSuccess || y.numel == 0) return error;
    copy(windows.of(x), y);
    return diopiSuccess;
}

/// Each row of `inner` elements is the sum of those of the windows that hold it.
template <class T>
diopiError_t fold_dim(diopiContextHandle_t ctx, const DimWindows& w, const View& grad_input, const View& grad_output) {
    Staging staging(ctx);
    const auto* g = staging.in<T>(grad_output);
    auto* gx = staging.out<T>(grad_input);
    if (staging.error() != diopiSuccess) return staging.error();
    parallel_for(w.outer * w.length, w.inner * ((w.size - 1) / w.step + 1), [&](int64_t first, int64_t last) {
        for (int64_t row = first; row < last; ++row) {
            const int64_t at = row % w.length, o = row / w.length;
            T* to = gx + row * w.inner;
            std::fill_n(to, w.inner, T{});
            const int64_t begin = at < w.size ? 0 : (at - w.size) / w.step + 1;
            const int64_t end = std::min(at / w.step + 1, w.count);
            for (int64_t window = begin; window < end; ++window) {
                const T* from = g + (o * w.count + window) * w.inner * w.size + at - window * w.step;
                for (int64_t i = 0; i < w.inner; ++i) to[i] += from[i * w.size];
            }
        }
    });
    return staging.finish();
}

diopiError_t unfold_dim_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                                 diopiConstTensorHandle_t grad_output, diopiSize_t input_sizes, int64_t dim,
                                 int64_t size, int64_t step) {
    const View g = view(grad_output), y = view(grad_input);
    DimWindows windows{.size = size, .step = step};
    diopiError_t error = check_computable(op, "grad_output", g);
    if (error == diopiSuccess) error = check_like(op, "grad_input", y, list_of(input_sizes), g.dtype);
    if (error == diopiSuccess) error = read_dim_windows(op, y.shape, dim, windows);
    if (error == diopiSuccess) error = check_shape(op, "grad_output", g, windows.shape);
    if (error != diopiSuccess) return error;
    if (g.numel == 0 || step >= size) {
        // No two windows share an element.
        if (windows.count * size < windows.length) fill(y, {diopi_dtype_float64, {.fval = 0}});
        if (g.numel > 0) copy(g, windows.of(y));
        return diopiSuccess;
    }
    return (g.dtype == Dtype::float64 ? fold_dim<double> : fold_dim<float>)(ctx, windows, y, g);
}

}  // namespace

#include "kernels/entries/conv_unfold.inc"

}  // namespace diopi::cpu
