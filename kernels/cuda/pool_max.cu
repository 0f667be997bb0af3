/// Maxima: a thread for each element, or for a pack of channels where they are the last dimension in memory.
#include "kernels/cuda/operators.hpp"
#include "kernels/cuda/pool.cuh"
#include "kernels/cuda/pool.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/pool.hpp"

namespace diopi::cuda {

namespace {

/// Places of maxima, int64 or int32.
struct Indices {
    void* data;  ///< null: they are not wanted
    bool is_wide;

    [[nodiscard]] static Indices of(const Images& x) { return {x.data, x.dtype == Dtype::int64}; }
    __device__ int64_t get(int64_t place) const {
        return is_wide ? static_cast<const int64_t*>(data)[place] : static_cast<const int32_t*>(data)[place];
    }
    __device__ void put(int64_t place, int64_t index) const {
        if (is_wide)
            static_cast<int64_t*>(data)[place] = index;
        else
            static_cast<int32_t*>(data)[place] = static_cast<int32_t>(index);
    }
};

/// `in` and `out` as the forward function has them; the backward one writes `in`.
template <class Index>
struct MaxPlan {
    PlaneWalk<Index> walk;
    Index items;
    PlaneStrides<Index> in, out, indices;
    WindowSide<Index> layers, rows, columns;

    [[nodiscard]] DIOPI_HOST_DEVICE Index number(Index z, Index y, Index x) const {
        return (z * rows.size + y) * columns.size + x;
    }
};

template <class Index>
MaxPlan<Index> max_plan(const PoolImages& p, bool walks_in, int pack) {
    const Images& walked = walks_in ? p.in : p.out;
    const auto side = [&](size_t d) { return WindowSide<Index>::of(p.window, d, p.in.sides()[d], p.out.sides()[d]); };
    return {PlaneWalk<Index>::of(walked, has_channels_last(p.in), pack),
            static_cast<Index>(walked.numel() / pack),
            PlaneStrides<Index>::of(p.in),
            PlaneStrides<Index>::of(p.out),
            PlaneStrides<Index>::of(p.indices),
            side(0),
            side(1),
            side(2)};
}

/// The first of equal maxima, and the last NaN.
template <class T, int kPack>
__global__ void max_pool_kernel(Elements<T> out, Indices indices, Elements<T> in, MaxPlan<IndexOf<T>> p) {
    using Index = IndexOf<T>;
    using C = ComputeOf<T>;
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    for (int64_t item = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; item < p.items; item += step) {
        const PlanePlace<Index> at = p.walk.find(static_cast<Index>(item));
        const Range<Index> layers = p.layers.elements(at.z), rows = p.rows.elements(at.y);
        const Range<Index> columns = p.columns.elements(at.x);
        C best[kPack];
        Index where[kPack];
        for (int k = 0; k < kPack; ++k) {
            best[k] = -kInfinity<C>;
            where[k] = p.number(layers.first, rows.first, columns.first);
        }
        const Index plane = p.in.plane(at);
        for (Index z = layers.first; z < layers.last; z += p.layers.dilation) {
            for (Index y = rows.first; y < rows.last; y += p.rows.dilation) {
                const Index row = p.in.row(plane, z, y);
#pragma unroll 4
                for (Index x = columns.first; x < columns.last; x += p.columns.dilation) {
                    C values[kPack];
                    in.get(row + x * p.in.x, values);
                    for (int k = 0; k < kPack; ++k) {
                        const bool wins = values[k] > best[k] || values[k] != values[k];
                        if (wins) best[k] = values[k];
                        if (wins) where[k] = p.number(z, y, x);
                    }
                }
            }
        }
        out.put(p.out.place(at), best);
        if (indices.data == nullptr) continue;
        const Index place = p.indices.place(at);
        for (int k = 0; k < kPack; ++k) indices.put(place + k * p.indices.c, where[k]);
    }
}

/// Each element gathers from the windows that hold it and whose index names it: the same sum in every run, without
/// atomics. An index that its window does not hold is ignored; refusing it would need a synchronisation.
template <class T, int kPack>
__global__ void max_pool_backward_kernel(Elements<T> grad_in, Elements<T> grad_out, Indices indices,
                                         MaxPlan<IndexOf<T>> p) {
    using Index = IndexOf<T>;
    using C = ComputeOf<T>;
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    for (int64_t item = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; item < p.items; item += step) {
        const PlanePlace<Index> at = p.walk.find(static_cast<Index>(item));
        const Range<Index> layers = p.layers.holders(at.z), rows = p.rows.holders(at.y);
        const Range<Index> columns = p.columns.holders(at.x);
        const int64_t own = p.number(at.z, at.y, at.x);
        const Index plane = p.out.plane(at), index_plane = p.indices.plane(at);
        C sum[kPack] = {};
        for (Index z = layers.first; z < layers.last; ++z) {
            for (Index y = rows.first; y < rows.last; ++y) {
                const Index row = p.out.row(plane, z, y), index_row = p.indices.row(index_plane, z, y);
                for (Index x = columns.first; x < columns.last; ++x) {
                    const Index place = row + x * p.out.x, index = index_row + x * p.indices.x;
                    for (int k = 0; k < kPack; ++k) {
                        if (indices.get(index + k * p.indices.c) == own) sum[k] += grad_out.get(place + k);
                    }
                }
            }
        }
        grad_in.put(p.in.place(at), sum);
    }
}

bool is_narrow(const PoolImages& p) { return fits_32_bits(p.indices) && fits_32_bits(p.window, p.in.sides()); }

}  // namespace

diopiError_t max_pool_with_indices(diopiContextHandle_t ctx, std::string_view op, size_t sides, diopiTensorHandle_t out,
                                   diopiTensorHandle_t indices, diopiConstTensorHandle_t input, diopiSize_t kernel_size,
                                   diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation, bool ceil_mode) {
    const View places = indices == nullptr ? View{} : view(indices);
    PoolImages p;
    const diopiError_t error = read_max_pool(op, sides, view(out), indices == nullptr ? nullptr : &places, view(input),
                                             {kernel_size, stride, padding, dilation, ceil_mode}, p);
    if (error != diopiSuccess || p.out.numel() == 0) return error;
    return with_channel_packs(op, p.out, p.in, is_narrow(p), [&]<class T, int kPack>() {
        const auto plan = max_plan<IndexOf<T>>(p, false, kPack);
        return launch(ctx, op, launch_for(plan.items, 1), max_pool_kernel<T, kPack>, Elements<T>::of(p.out.view()),
                      Indices::of(p.indices), Elements<T>::of(p.in.view()), plan);
    });
}

diopiError_t max_pool_backward(diopiContextHandle_t ctx, std::string_view op, size_t sides,
                               diopiTensorHandle_t grad_input, diopiConstTensorHandle_t grad_output,
                               diopiConstTensorHandle_t input, diopiSize_t kernel_size, diopiSize_t stride,
                               diopiSize_t padding, diopiSize_t dilation, bool ceil_mode,
                               diopiConstTensorHandle_t indices) {
    if (grad_input == nullptr) return diopiSuccess;
    PoolImages p;
    const diopiError_t error =
        read_max_pool_backward(op, sides, view(grad_input), view(grad_output), view(input), view(indices),
                               {kernel_size, stride, padding, dilation, ceil_mode}, p);
    if (error != diopiSuccess || p.in.numel() == 0) return error;
    return with_channel_packs(op, p.in, p.out, is_narrow(p), [&]<class T, int kPack>() {
        const auto plan = max_plan<IndexOf<T>>(p, true, kPack);
        return launch(ctx, op, launch_for(plan.items, 1), max_pool_backward_kernel<T, kPack>,
                      Elements<T>::of(p.in.view()), Elements<T>::of(p.out.view()), Indices::of(p.indices), plan);
    });
}

#include "kernels/entries/pool_max.inc"

}  // namespace diopi::cuda
