/// Numbers at a regular distance.
#include "kernels/cuda/element/element.cuh"
#include "kernels/cuda/element/launch.cuh"
#include "kernels/cuda/operators.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/shape.hpp"

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

diopiError_t arange(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out, const diopiScalar_t* start,
                    const diopiScalar_t* end, const diopiScalar_t* step) {
    const View y = view(out);
    if (const diopiError_t error = check_steps(op, y, *start, *end, *step); error != diopiSuccess) return error;
    if (y.numel == 0) return diopiSuccess;
    const Launch l = launch_for(y.numel, 1);
    if (is_floating(y.dtype)) {
        return launch(ctx, op, l, steps_kernel<double>, y.data, y.dtype, y.strides[0], number<double>(*start),
                      number<double>(*step), y.numel);
    }
    return launch(ctx, op, l, steps_kernel<uint64_t>, y.data, y.dtype, y.strides[0], number<uint64_t>(*start),
                  number<uint64_t>(*step), y.numel);
}

}  // namespace

#include "kernels/entries/shape_sequence.inc"

}  // namespace diopi::cuda
