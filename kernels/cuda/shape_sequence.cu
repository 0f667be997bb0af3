/// Numbers at a regular distance.
#include <cmath>
#include <string>

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/operators.hpp"

namespace diopi::cuda {

namespace {

/// Element i = start + i * step.
template <class C>
__global__ void steps_kernel(void* out, Dtype dtype, int64_t stride, C start, C step, int64_t n) {
    const int64_t all = int64_t{gridDim.x} * blockDim.x;
    for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += all) {
        store(out, i * stride, dtype, start + static_cast<C>(i) * step);
    }
}

}  // namespace

diopiError_t diopiArange(diopiContextHandle_t ctx, diopiTensorHandle_t out, const diopiScalar_t* start,
                         const diopiScalar_t* end, const diopiScalar_t* step) {
    constexpr std::string_view kOp = "diopiArange";
    const View y = view(out);
    const bool floating = is_floating(y.dtype);
    if (is_complex(y.dtype)) return unsupported(kOp, "out", y.dtype, "a real dtype");
    const auto as_double = [&](const diopiScalar_t& x) {
        return floating ? number<double>(x) : static_cast<double>(number<int64_t>(x));
    };
    // Less than 0 or NaN where step does not lead to end.
    const double by = as_double(*step), count = std::ceil((as_double(*end) - as_double(*start)) / by);
    if (by == 0 || !(count >= 0)) {
        return fail(diopiErrorOccurred,
                    std::string(kOp) + ": step is " + std::to_string(by) + ", wanted one that leads from start to end");
    }
    if (y.shape.size() != 1 || static_cast<double>(y.numel) != count) {
        return wrong_shape(kOp, "out", y.shape,
                           "ceil((end - start) / step) = " + std::to_string(count) + " elements in 1 dimension");
    }
    if (y.numel == 0) return diopiSuccess;
    const Launch l = launch_for(y.numel, 1);
    if (floating) {
        return launch(ctx, kOp, l, steps_kernel<double>, y.data, y.dtype, y.strides[0], number<double>(*start), by,
                      y.numel);
    }
    return launch(ctx, kOp, l, steps_kernel<uint64_t>, y.data, y.dtype, y.strides[0], number<uint64_t>(*start),
                  number<uint64_t>(*step), y.numel);
}

}  // namespace diopi::cuda
