/// Upper and lower triangles of matrices.
#include <algorithm>

#include "kernels/cuda/copy.hpp"
#include "kernels/cuda/element/element.cuh"
#include "kernels/cuda/element/index.hpp"
#include "kernels/cuda/element/launch.cuh"
#include "kernels/cuda/element/nest.hpp"
#include "kernels/cuda/element/units.hpp"
#include "kernels/cuda/operators.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/shape.hpp"

namespace diopi::cuda {

namespace {

/// The elements that are kept: their column less their row is at least `diagonal` (upper) or at most that.
struct Triangle {
    bool upper;
    int64_t diagonal;

    DIOPI_HOST_DEVICE bool keeps(int64_t row, int64_t column) const {
        return upper ? column - row >= diagonal : column - row <= diagonal;
    }
};

/// Dense matrices of one dtype, one below the other; out may be input. `width` columns, `height` rows.
template <class T, int kPack, class Size>
__global__ void triangle_kernel(T* out, const T* input, Triangle triangle, Size width, Size height, int64_t n) {
    using Index = decltype(width.value());
    using Packed = Pack<T, kPack>;
    const int64_t step = int64_t{gridDim.x} * blockDim.x * kPack;
    for (int64_t at = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kPack; at < n; at += step) {
        Index rows = width.quotient(static_cast<Index>(at));
        Index column = static_cast<Index>(at) - rows * width.value();
        Index row = rows - height.quotient(rows) * height.value();
        const bool is_whole = at + kPack <= n;
        Packed pack{};
        if (is_whole) {
            pack = *reinterpret_cast<const Packed*>(input + at);
        } else {
            for (int i = 0; i < kPack && at + i < n; ++i) pack.at[i] = input[at + i];
        }
        for (int i = 0; i < kPack; ++i) {
            if (!triangle.keeps(row, column)) pack.at[i] = T{};
            if (++column < width.value()) continue;
            column = 0;
            if (++row == height.value()) row = 0;
        }
        if (is_whole) {
            *reinterpret_cast<Packed*>(out + at) = pack;
        } else {
            for (int i = 0; i < kPack && at + i < n; ++i) out[at + i] = pack.at[i];
        }
    }
}

template <class T, class Size>
diopiError_t launch_triangle(diopiContextHandle_t ctx, std::string_view op, const View& out, const View& input,
                             const Triangle& triangle) {
    constexpr int kPack = 16 / sizeof(T);
    const int64_t width = out.shape.back(), height = out.shape[out.shape.size() - 2];
    const auto run = [&](auto kernel, int pack) {
        return launch(ctx, op, launch_for(out.numel, pack), kernel, reinterpret_cast<T*>(out.data),
                      reinterpret_cast<const T*>(input.data), triangle, Size::of(width), Size::of(height), out.numel);
    };
    if (is_aligned(out.data, 16) && is_aligned(input.data, 16)) return run(triangle_kernel<T, kPack, Size>, kPack);
    return run(triangle_kernel<T, 1, Size>, 1);
}

template <bool kUpper>
diopiError_t triangle(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input, int64_t diagonal) {
    const View y = view(out);
    View x = view(input);
    if (const diopiError_t error = check_triangle(op, y, x); error != diopiSuccess) return error;
    if (const diopiError_t error = check_views(op, y, {&x, 1}); error != diopiSuccess) return error;
    if (x.numel == 0) return diopiSuccess;
    DenseOut dense;
    diopiError_t error = aliases_differently(y, x) ? copy_of(ctx, op, x, x) : contiguous_as(ctx, op, x, x.dtype, x);
    if (error == diopiSuccess) error = dense.begin(ctx, y);
    if (error != diopiSuccess) return error;
    error = with_bits(y.item_size(), [&]<class T>() {
        const bool is_narrow = y.numel <= INT32_MAX;
        return (is_narrow ? launch_triangle<T, FastSize> : launch_triangle<T, WideSize>)(ctx, op, dense.view(), x,
                                                                                         {kUpper, diagonal});
    });
    return error == diopiSuccess ? dense.finish(ctx, op) : error;
}

}  // namespace

#include "kernels/entries/shape_triangle.inc"

}  // namespace diopi::cuda
