/// adaptive_avg_pool2d: several threads share the sum of a large window.
#include "kernels/cuda/operators.hpp"
#include "kernels/cuda/pool.cuh"

namespace diopi::cuda {

namespace {

/// `in` and `out` as the forward function has them; the backward one writes `in`.
template <class Index>
struct MeanPlan {
    PlaneWalk<Index> walk;
    Index items;
    PlaneStrides<Index> in, out;
    PartSide<Index> rows, columns;
    int slice_bits;         ///< of the number of threads that share a window
    bool is_slice_fastest;  ///< neighbouring threads take elements of one window, else the same one of several
};

template <class Index>
MeanPlan<Index> mean_plan(const View& in, const View& out, bool walks_in, int pack) {
    const Planes from(in), to(out);
    const Planes& walked = walks_in ? from : to;
    const bool channels_last = from.has_channels_last();
    const auto window = [&](size_t d) { return (from.sizes[d] + to.sizes[d] - 1) / to.sizes[d]; };
    return {PlaneWalk<Index>::of(walked, channels_last, pack),
            static_cast<Index>(walked.numel() / pack),
            PlaneStrides<Index>::of(from),
            PlaneStrides<Index>::of(to),
            PartSide<Index>::of(from.sizes[2], to.sizes[2]),
            PartSide<Index>::of(from.sizes[3], to.sizes[3]),
            slice_bits(window(2) * window(3), walked.numel(), channels_last),
            !channels_last};
}

/// The elements slice, slice + slices, ... of a window, row by row.
template <class T, class Index>
__device__ ComputeOf<T> sum_of_slice(const Elements<T>& in, Index plane, const PlaneStrides<Index>& strides,
                                     Range<Index> rows, Range<Index> columns, int slice, int slices) {
    const Index width = columns.last - columns.first;
    const Index row_step = slices / width, column_step = slices % width;
    Index y = rows.first + slice / width, x = columns.first + slice % width;
    ComputeOf<T> sum = 0;
#pragma unroll 4
    while (y < rows.last) {
        sum += in.get(plane + y * strides.y + x * strides.x);
        y += row_step;
        x += column_step;
        if (x >= columns.last) {
            x -= width;
            ++y;
        }
    }
    return sum;
}

/// A block takes as many neighbouring means as it has threads for, and goes on by the whole launch.
template <class T>
__global__ void mean_kernel(Elements<T> out, Elements<T> in, MeanPlan<IndexOf<T>> p) {
    using Index = IndexOf<T>;
    using C = ComputeOf<T>;
    __shared__ C sums[kThreads];
    const int thread = static_cast<int>(threadIdx.x), slices = 1 << p.slice_bits;
    const int lanes = static_cast<int>(kThreads) >> p.slice_bits;
    const int slice = p.is_slice_fastest ? thread % slices : thread / lanes;
    const int lane = p.is_slice_fastest ? thread / slices : thread % lanes;
    const int to_next_slice = p.is_slice_fastest ? 1 : lanes;
    for (int64_t base = int64_t{blockIdx.x} * lanes; base < p.items; base += int64_t{gridDim.x} * lanes) {
        const int64_t item = base + lane;
        const bool is_there = item < p.items;
        const PlanePlace<Index> at = p.walk.find(is_there ? static_cast<Index>(item) : Index{0});
        const Range<Index> rows = p.rows.elements(at.y), columns = p.columns.elements(at.x);
        C sum = 0;
        if (is_there) sum = sum_of_slice<T, Index>(in, p.in.plane(at), p.in, rows, columns, slice, slices);
        if (slices > 1) {
            sums[thread] = sum;
            for (int half = slices / 2; half > 0; half /= 2) {
                __syncthreads();
                if (slice < half) sums[thread] += sums[thread + half * to_next_slice];
            }
            sum = sums[thread];
            __syncthreads();
        }
        if (!is_there || slice != 0) continue;
        const Index count = (rows.last - rows.first) * (columns.last - columns.first);
        out.put(p.out.place(at), sum / static_cast<C>(count));
    }
}

/// Each element gathers from the windows that hold it.
template <class T, int kPack>
__global__ void mean_backward_kernel(Elements<T> grad_in, Elements<T> grad_out, MeanPlan<IndexOf<T>> p) {
    using Index = IndexOf<T>;
    using C = ComputeOf<T>;
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    for (int64_t item = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; item < p.items; item += step) {
        const PlanePlace<Index> at = p.walk.find(static_cast<Index>(item));
        const Range<Index> rows = p.rows.holders(at.y), columns = p.columns.holders(at.x);
        const Index plane = p.out.plane(at);
        C sum[kPack] = {};
        for (Index y = rows.first; y < rows.last; ++y) {
            const Range<Index> height = p.rows.elements(y);
            C row[kPack] = {};
            for (Index x = columns.first; x < columns.last; ++x) {
                const Range<Index> width = p.columns.elements(x);
                const auto count = static_cast<C>((height.last - height.first) * (width.last - width.first));
                C values[kPack];
                grad_out.get(plane + y * p.out.y + x * p.out.x, values);
                for (int k = 0; k < kPack; ++k) row[k] += values[k] / count;
            }
            for (int k = 0; k < kPack; ++k) sum[k] += row[k];
        }
        grad_in.put(p.in.place(at), sum);
    }
}

bool are_narrow(const View& in, const View& out) {
    const Planes from(in), to(out);
    return parts_fit_32_bits(from.sizes[2], to.sizes[2]) && parts_fit_32_bits(from.sizes[3], to.sizes[3]);
}

}  // namespace

diopiError_t diopiAdaptiveAvgPool2d(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                    diopiSize_t output_size) {
    constexpr std::string_view kOp = "diopiAdaptiveAvgPool2d";
    const View x = view(input), y = view(out);
    if (!is_pooled(x.dtype)) return unsupported(kOp, "input", x.dtype, "a floating dtype");
    if (!Planes::fits(x)) return wrong_shape(kOp, "input", x.shape, "(N, C, H, W) or (C, H, W)");
    const Planes planes(x);
    Shape wanted(x.shape.begin(), x.shape.end());
    std::ranges::copy(sides_of(output_size, {planes.sizes[2], planes.sizes[3]}), wanted.end() - 2);
    if (!std::ranges::equal(y.shape, wanted)) return wrong_shape(kOp, "out", y.shape, to_string(wanted));
    if (y.numel == 0) return diopiSuccess;
    if (planes.area() == 0) return wrong_shape(kOp, "input", x.shape, "sides of at least 1");
    return with_channel_packs(kOp, y, x, are_narrow(x, y), [&]<class T, int>() {
        const auto plan = mean_plan<IndexOf<T>>(x, y, false, 1);
        const Launch grid = launch_for(int64_t{plan.items} << plan.slice_bits, 1);
        return launch(ctx, kOp, grid, mean_kernel<T>, Elements<T>::of(y), Elements<T>::of(x), plan);
    });
}

diopiError_t diopiAdaptiveAvgPool2dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                            diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input) {
    constexpr std::string_view kOp = "diopiAdaptiveAvgPool2dBackward";
    const View grad = view(grad_input), g = view(grad_output);
    if (!is_pooled(g.dtype)) return unsupported(kOp, "grad_output", g.dtype, "a floating dtype");
    if (!Planes::fits(grad) || !std::ranges::equal(grad.shape, view(input).shape)) {
        return wrong_shape(kOp, "grad_input", grad.shape, "that of input");
    }
    const size_t outer = grad.shape.size() - 2;
    if (g.shape.size() != grad.shape.size() || !std::ranges::equal(g.shape.first(outer), grad.shape.first(outer))) {
        return wrong_shape(kOp, "grad_output", g.shape, "the outer dimensions of input");
    }
    if (grad.numel == 0) return diopiSuccess;
    if (g.numel == 0) {
        diopiScalar_t zero{};
        zero.stype = diopi_dtype_float64;
        return diopiFill(ctx, grad_input, &zero);
    }
    return with_channel_packs(kOp, grad, g, are_narrow(grad, g), [&]<class T, int kPack>() {
        const auto plan = mean_plan<IndexOf<T>>(grad, g, true, kPack);
        return launch(ctx, kOp, launch_for(plan.items, 1), mean_backward_kernel<T, kPack>, Elements<T>::of(grad),
                      Elements<T>::of(g), plan);
    });
}

}  // namespace diopi::cuda
