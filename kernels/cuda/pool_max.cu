/// max_pool2d: a thread for each element, or for a pack of channels where they are the last dimension in memory.
#include <limits>

#include "kernels/cuda/operators.hpp"
#include "kernels/cuda/pool.cuh"

namespace diopi::cuda {

namespace {

/// Places of maxima, int64 or int32.
struct Indices {
    void* data;  ///< null: nobody wants them
    bool is_wide;

    [[nodiscard]] static Indices of(const View& v) { return {v.data, v.dtype == Dtype::int64}; }
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
    WindowSide<Index> rows, columns;
};

template <class Index>
MaxPlan<Index> max_plan(const Window& w, const View& in, const View& out, const View* indices, bool walks_in,
                        int pack) {
    const Planes from(in), to(out), places(indices == nullptr ? out : *indices);
    const Planes& walked = walks_in ? from : to;
    return {PlaneWalk<Index>::of(walked, from.has_channels_last(), pack),
            static_cast<Index>(walked.numel() / pack),
            PlaneStrides<Index>::of(from),
            PlaneStrides<Index>::of(to),
            PlaneStrides<Index>::of(places),
            WindowSide<Index>::of(w, 0, from.sizes[2], to.sizes[2]),
            WindowSide<Index>::of(w, 1, from.sizes[3], to.sizes[3])};
}

/// The first of equal maxima, and the last NaN.
template <class T, int kPack>
__global__ void max_pool_kernel(Elements<T> out, Indices indices, Elements<T> in, MaxPlan<IndexOf<T>> p) {
    using Index = IndexOf<T>;
    using C = ComputeOf<T>;
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    for (int64_t item = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; item < p.items; item += step) {
        const PlanePlace<Index> at = p.walk.find(static_cast<Index>(item));
        const Range<Index> rows = p.rows.elements(at.y), columns = p.columns.elements(at.x);
        C best[kPack];
        Index where[kPack];
        for (int k = 0; k < kPack; ++k) {
            best[k] = -kInfinity<C>;
            where[k] = rows.first * p.columns.size + columns.first;
        }
        const Index plane = p.in.plane(at);
        for (Index y = rows.first; y < rows.last; y += p.rows.dilation) {
#pragma unroll 4
            for (Index x = columns.first; x < columns.last; x += p.columns.dilation) {
                C values[kPack];
                in.get(plane + y * p.in.y + x * p.in.x, values);
                for (int k = 0; k < kPack; ++k) {
                    const bool wins = values[k] > best[k] || values[k] != values[k];
                    if (wins) best[k] = values[k];
                    if (wins) where[k] = y * p.columns.size + x;
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
/// atomics. An index that its window does not hold counts nowhere; refusing it would need a synchronisation.
template <class T, int kPack>
__global__ void max_pool_backward_kernel(Elements<T> grad_in, Elements<T> grad_out, Indices indices,
                                         MaxPlan<IndexOf<T>> p) {
    using Index = IndexOf<T>;
    using C = ComputeOf<T>;
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    for (int64_t item = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; item < p.items; item += step) {
        const PlanePlace<Index> at = p.walk.find(static_cast<Index>(item));
        const Range<Index> rows = p.rows.holders(at.y), columns = p.columns.holders(at.x);
        const int64_t own = at.y * p.columns.size + at.x;
        const Index plane = p.out.plane(at), index_plane = p.indices.plane(at);
        C sum[kPack] = {};
        for (Index y = rows.first; y < rows.last; ++y) {
            for (Index x = columns.first; x < columns.last; ++x) {
                const Index place = plane + y * p.out.y + x * p.out.x;
                const Index index = index_plane + y * p.indices.y + x * p.indices.x;
                for (int k = 0; k < kPack; ++k) {
                    if (indices.get(index + k * p.indices.c) == own) sum[k] += grad_out.get(place + k);
                }
            }
        }
        grad_in.put(p.in.place(at), sum);
    }
}

bool is_index(Dtype dtype) { return dtype == Dtype::int64 || dtype == Dtype::int32; }

diopiError_t check_indices(std::string_view op, const View& indices, const View& out) {
    if (!is_index(indices.dtype)) return unsupported(op, "indices", indices.dtype, "int64 or int32");
    if (!std::ranges::equal(indices.shape, out.shape)) {
        return wrong_shape(op, "indices", indices.shape, to_string(out.shape));
    }
    return diopiSuccess;
}

/// Whether 32 bits serve the windows and the indices. That they serve the images is not known.
bool is_narrow(const Window& window, const View& in, const View* indices) {
    const Planes planes(in);
    if (indices != nullptr && !Planes(*indices).fits_32_bits()) return false;
    return window.fits_32_bits(0, planes.sizes[2]) && window.fits_32_bits(1, planes.sizes[3]);
}

diopiError_t max_pool(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                      diopiTensorHandle_t indices, diopiConstTensorHandle_t input, const WindowArguments& arguments) {
    const View x = view(input), y = view(out);
    Window window;
    if (const diopiError_t error = read_window(op, x, y, arguments, window); error != diopiSuccess) return error;
    View places;
    if (indices != nullptr) {
        places = view(indices);
        if (const diopiError_t error = check_indices(op, places, y); error != diopiSuccess) return error;
        if (places.dtype == Dtype::int32 && Planes(x).area() > std::numeric_limits<int32_t>::max()) {
            return unsupported(op, "indices", places.dtype, "int64 for planes of so many elements");
        }
    }
    if (y.numel == 0) return diopiSuccess;
    const View* wanted = indices == nullptr ? nullptr : &places;
    return with_channel_packs(op, y, x, is_narrow(window, x, wanted), [&]<class T, int kPack>() {
        const auto plan = max_plan<IndexOf<T>>(window, x, y, wanted, false, kPack);
        return launch(ctx, op, launch_for(plan.items, 1), max_pool_kernel<T, kPack>, Elements<T>::of(y),
                      Indices::of(places), Elements<T>::of(x), plan);
    });
}

}  // namespace

diopiError_t diopiMaxPool2d(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                            diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation,
                            bool ceil_mode) {
    return max_pool(ctx, "diopiMaxPool2d", out, nullptr, input, {kernel_size, stride, padding, dilation, ceil_mode});
}

diopiError_t diopiMaxPool2dWithIndices(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiTensorHandle_t indices,
                                       diopiConstTensorHandle_t input, diopiSize_t kernel_size, diopiSize_t stride,
                                       diopiSize_t padding, diopiSize_t dilation, bool ceil_mode) {
    return max_pool(ctx, "diopiMaxPool2dWithIndices", out, indices, input,
                    {kernel_size, stride, padding, dilation, ceil_mode});
}

diopiError_t diopiMaxPool2dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                    diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding,
                                    diopiSize_t dilation, bool ceil_mode, diopiConstTensorHandle_t indices) {
    constexpr std::string_view kOp = "diopiMaxPool2dBackward";
    if (grad_input == nullptr) return diopiSuccess;
    const View grad = view(grad_input), g = view(grad_output), places = view(indices), x = view(input);
    Window window;
    const diopiError_t error = read_window(kOp, x, g, {kernel_size, stride, padding, dilation, ceil_mode}, window);
    if (error != diopiSuccess) return error;
    if (!std::ranges::equal(grad.shape, x.shape)) {
        return wrong_shape(kOp, "grad_input", grad.shape, "that of input");
    }
    if (const diopiError_t wrong = check_indices(kOp, places, g); wrong != diopiSuccess) return wrong;
    if (grad.numel == 0) return diopiSuccess;
    return with_channel_packs(kOp, grad, g, is_narrow(window, grad, &places), [&]<class T, int kPack>() {
        const auto plan = max_plan<IndexOf<T>>(window, grad, g, &places, true, kPack);
        return launch(ctx, kOp, launch_for(plan.items, 1), max_pool_backward_kernel<T, kPack>, Elements<T>::of(grad),
                      Elements<T>::of(g), Indices::of(places), plan);
    });
}

}  // namespace diopi::cuda
