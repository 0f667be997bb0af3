/// Images of other sizes.
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/pool_planes.hpp"
#include "kernels/cpu/vision_taps.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/vision.hpp"

namespace diopi::cpu {

namespace {

/// The element at floor(i * in / out), in float32 as in PyTorch, whatever the dtype.
struct Nearest {
    template <class T>
    void add(Taps<T>& taps, int64_t i, int64_t in, int64_t out) const {
        const float part = static_cast<float>(in) / static_cast<float>(out);
        const auto at = static_cast<int64_t>(std::floor(static_cast<float>(i) * part));
        taps.add(std::min(at, in - 1), T{1});
    }
};

/// At i * (in - 1) / (out - 1) where the corners are aligned; else at (i + 1/2) * in / out - 1/2, in the linear modes
/// at least at 0.
struct Smooth {
    bool aligns_corners, is_cubic;

    template <class T>
    void add(Taps<T>& taps, int64_t i, int64_t in, int64_t out) const {
        if (in == out) return taps.add(i, T{1});
        T position = 0;
        if (!aligns_corners)
            position = (static_cast<T>(i) + T(0.5)) * (static_cast<T>(in) / static_cast<T>(out)) - T(0.5);
        else if (out > 1)
            position = static_cast<T>(i) * (static_cast<T>(in - 1) / static_cast<T>(out - 1));
        if (is_cubic)
            taps.add_cubic(position, in);
        else
            taps.add_linear(std::max(position, T{0}), in);
    }
};

/// The taps of each side, transposed for the gradient.
template <class T, class Mode>
Resample<T> resample_of(const PoolShape& s, const Mode& mode, bool is_backward) {
    Resample<T> resample{s.lanes, is_backward ? s.out : s.in, is_backward ? s.in : s.out, {}};
    for (size_t d = 0; d < kMostSides; ++d) {
        Taps<T> taps;
        for (int64_t i = 0; i < s.out[d]; ++i) {
            mode.template add<T>(taps, i, s.in[d], s.out[d]);
            taps.next();
        }
        resample.taps[d] = is_backward ? taps.transposed(s.in[d]) : std::move(taps);
    }
    return resample;
}

template <class T, class Mode>
diopiError_t run(diopiContextHandle_t ctx, const Resizing& r, const Mode& mode, bool is_backward) {
    const Layout layout = common_layout(r.in, r.out);
    const PoolShape s = pool_shape(r.in, r.out, layout);
    const Resample<T> all = resample_of<T>(s, mode, is_backward);
    return run_planes<T>(ctx, (is_backward ? r.out : r.in).view(), (is_backward ? r.in : r.out).view(), layout, s.count,
                         [&](int64_t planes, const T* x, T* y) { resample(all, planes, x, y); });
}

template <class Mode>
diopiError_t run(diopiContextHandle_t ctx, const Resizing& r, const Mode& mode, bool is_backward) {
    if (r.out.numel() == 0) return diopiSuccess;
    const bool is_double = r.in.dtype == Dtype::float64 || r.out.dtype == Dtype::float64;
    return (is_double ? run<double, Mode> : run<float, Mode>)(ctx, r, mode, is_backward);
}

diopiError_t upsample_nearest(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                              diopiConstTensorHandle_t input, diopiSize_t size) {
    Resizing r;
    const diopiError_t error = read_resize(op, view(out), view(input), size, r);
    return error == diopiSuccess ? run(ctx, r, Nearest(), false) : error;
}

diopiError_t upsample_nearest_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                                       diopiConstTensorHandle_t grad_output, diopiSize_t out_size,
                                       diopiSize_t in_size) {
    Resizing r;
    const diopiError_t error = read_resize_backward(op, view(grad_input), view(grad_output), out_size, in_size, r);
    return error == diopiSuccess ? run(ctx, r, Nearest(), true) : error;
}

diopiError_t upsample_linear(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                             diopiConstTensorHandle_t input, diopiSize_t size, bool align_corners, const char* mode) {
    Resizing r;
    Smooth smooth{align_corners, false};
    diopiError_t error = read_resize(op, view(out), view(input), size, r);
    if (error == diopiSuccess) error = read_mode(op, mode, r.sides, smooth.is_cubic);
    return error == diopiSuccess ? run(ctx, r, smooth, false) : error;
}

diopiError_t upsample_linear_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                                      diopiConstTensorHandle_t grad_output, diopiSize_t out_size, diopiSize_t in_size,
                                      bool align_corners, const char* mode) {
    Resizing r;
    Smooth smooth{align_corners, false};
    diopiError_t error = read_resize_backward(op, view(grad_input), view(grad_output), out_size, in_size, r);
    if (error == diopiSuccess) error = read_mode(op, mode, r.sides, smooth.is_cubic);
    return error == diopiSuccess ? run(ctx, r, smooth, true) : error;
}

}  // namespace

#include "kernels/entries/vision_interpolate.inc"

}  // namespace diopi::cpu
