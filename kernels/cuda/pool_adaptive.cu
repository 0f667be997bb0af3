/// Adaptive means: several threads share the sum of a large window.
#include "kernels/cuda/operators.hpp"
#include "kernels/cuda/pool.cuh"
#include "kernels/cuda/pool.hpp"
#include "kernels/cuda/product/copies.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/pool.hpp"

namespace diopi::cuda {

namespace {

/// `in` and `out` as the forward function has them; the backward one writes `in`.
template <class Index>
struct MeanPlan {
    PlaneWalk<Index> walk;
    Index items;
    PlaneStrides<Index> in, out;
    PartSide<Index> layers, rows, columns;
    int slice_bits;         ///< of the number of threads that share a window
    bool is_slice_fastest;  ///< neighbouring threads take elements of one window, else the same one of several
};

template <class Index>
MeanPlan<Index> mean_plan(const PoolImages& p, bool walks_in, int pack) {
    const Images &in = p.in, &out = p.out, &walked = walks_in ? in : out;
    const bool channels_last = has_channels_last(in);
    const Sides from = in.sides(), to = out.sides();
    int64_t window = 1;
    for (size_t d = 0; d < from.size(); ++d) window *= (from[d] + to[d] - 1) / to[d];
    const auto side = [&](size_t d) { return PartSide<Index>::of(from[d], to[d]); };
    return {PlaneWalk<Index>::of(walked, channels_last, pack),
            static_cast<Index>(walked.numel() / pack),
            PlaneStrides<Index>::of(in),
            PlaneStrides<Index>::of(out),
            side(0),
            side(1),
            side(2),
            slice_bits(window, walked.numel(), channels_last),
            !channels_last};
}

/// Elements of a window.
template <class Index>
struct Box {
    Range<Index> layers, rows, columns;

    [[nodiscard]] __device__ Index count() const {
        return (layers.last - layers.first) * (rows.last - rows.first) * (columns.last - columns.first);
    }
};

/// The elements slice, slice + slices, ... of a window, row by row.
template <class T, class Index>
__device__ ComputeOf<T> sum_of_slice(const Elements<T>& in, Index plane, const PlaneStrides<Index>& strides,
                                     const Box<Index>& box, int slice, int slices) {
    const Index width = box.columns.last - box.columns.first, height = box.rows.last - box.rows.first;
    const Index row_step = slices / width, column_step = slices % width;
    Index y = box.rows.first + slice / width, x = box.columns.first + slice % width;
    ComputeOf<T> sum = 0;
    for (Index z = box.layers.first; z < box.layers.last; ++z, y -= height) {
#pragma unroll 4
        while (y < box.rows.last) {
            sum += in.get(strides.row(plane, z, y) + x * strides.x);
            y += row_step;
            x += column_step;
            if (x >= box.columns.last) {
                x -= width;
                ++y;
            }
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
        const Box<Index> box{p.layers.elements(at.z), p.rows.elements(at.y), p.columns.elements(at.x)};
        C sum = 0;
        if (is_there) sum = sum_of_slice<T, Index>(in, p.in.plane(at), p.in, box, slice, slices);
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
        out.put(p.out.place(at), sum / static_cast<C>(box.count()));
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
        const Range<Index> layers = p.layers.holders(at.z), rows = p.rows.holders(at.y);
        const Range<Index> columns = p.columns.holders(at.x);
        const Index plane = p.out.plane(at);
        C sum[kPack] = {};
        for (Index z = layers.first; z < layers.last; ++z) {
            for (Index y = rows.first; y < rows.last; ++y) {
                const Index row = p.out.row(plane, z, y);
                Box<Index> box{p.layers.elements(z), p.rows.elements(y), {}};
                C row_sum[kPack] = {};
                for (Index x = columns.first; x < columns.last; ++x) {
                    box.columns = p.columns.elements(x);
                    const auto count = static_cast<C>(box.count());
                    C values[kPack];
                    grad_out.get(row + x * p.out.x, values);
                    for (int k = 0; k < kPack; ++k) row_sum[k] += values[k] / count;
                }
                for (int k = 0; k < kPack; ++k) sum[k] += row_sum[k];
            }
        }
        grad_in.put(p.in.place(at), sum);
    }
}

bool are_narrow(const PoolImages& p) {
    for (size_t d = 0; d < p.in.sides().size(); ++d) {
        if (!parts_fit_32_bits(p.in.sides()[d], p.out.sides()[d])) return false;
    }
    return true;
}

}  // namespace

diopiError_t adaptive_avg_pool(diopiContextHandle_t ctx, std::string_view op, size_t sides, diopiTensorHandle_t out,
                               diopiConstTensorHandle_t input, diopiSize_t output_size) {
    PoolImages p;
    const diopiError_t error = read_adaptive_pool(op, sides, view(out), view(input), output_size, p);
    if (error != diopiSuccess || p.out.numel() == 0) return error;
    return with_channel_packs(op, p.out, p.in, are_narrow(p), [&]<class T, int>() {
        const auto plan = mean_plan<IndexOf<T>>(p, false, 1);
        const Launch grid = launch_for(int64_t{plan.items} << plan.slice_bits, 1);
        return launch(ctx, op, grid, mean_kernel<T>, Elements<T>::of(p.out.view()), Elements<T>::of(p.in.view()), plan);
    });
}

diopiError_t adaptive_avg_pool_backward(diopiContextHandle_t ctx, std::string_view op, size_t sides,
                                        diopiTensorHandle_t grad_input, diopiConstTensorHandle_t grad_output,
                                        diopiConstTensorHandle_t input) {
    PoolImages p;
    const diopiError_t error =
        read_adaptive_pool_backward(op, sides, view(grad_input), view(grad_output), view(input), p);
    if (error != diopiSuccess || p.in.numel() == 0) return error;
    if (p.out.numel() == 0) return assign_zero(ctx, op, p.in.view());
    return with_channel_packs(op, p.in, p.out, are_narrow(p), [&]<class T, int kPack>() {
        const auto plan = mean_plan<IndexOf<T>>(p, true, kPack);
        return launch(ctx, op, launch_for(plan.items, 1), mean_backward_kernel<T, kPack>, Elements<T>::of(p.in.view()),
                      Elements<T>::of(p.out.view()), plan);
    });
}

#include "kernels/entries/pool_adaptive.inc"

}  // namespace diopi::cuda
