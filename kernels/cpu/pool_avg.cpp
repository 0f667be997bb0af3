/// Means over sliding windows.
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/pool.hpp"
#include "kernels/cpu/pool_means.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

diopiError_t avg_pool(diopiContextHandle_t ctx, std::string_view op, size_t sides, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input, diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding,
                      bool ceil_mode, bool count_include_pad, const int64_t* divisor_override) {
    PoolImages p;
    const diopiError_t error = read_avg_pool(op, sides, view(out), view(input),
                                             {kernel_size, stride, padding, {}, ceil_mode}, divisor_override, p);
    if (error != diopiSuccess || p.out.numel() == 0) return error;
    return pool_means(ctx, p,
                      MeanWindows::sliding(p.window, p.in.sides(), p.out.sides(), count_include_pad, divisor_override));
}

diopiError_t avg_pool_backward(diopiContextHandle_t ctx, std::string_view op, size_t sides,
                               diopiTensorHandle_t grad_input, diopiConstTensorHandle_t grad_output,
                               diopiConstTensorHandle_t input, diopiSize_t kernel_size, diopiSize_t stride,
                               diopiSize_t padding, bool ceil_mode, bool count_include_pad,
                               const int64_t* divisor_override) {
    PoolImages p;
    const diopiError_t error =
        read_avg_pool_backward(op, sides, view(grad_input), view(grad_output), view(input),
                               {kernel_size, stride, padding, {}, ceil_mode}, divisor_override, p);
    if (error != diopiSuccess || p.in.numel() == 0) return error;
    return pool_means_backward(
        ctx, p, MeanWindows::sliding(p.window, p.in.sides(), p.out.sides(), count_include_pad, divisor_override));
}

#include "kernels/entries/pool_avg.inc"

}  // namespace diopi::cpu
