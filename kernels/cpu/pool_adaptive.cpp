/// Means over adaptive windows.
#include "kernels/cpu/pool.hpp"

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/pool_means.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

diopiError_t adaptive_avg_pool(diopiContextHandle_t ctx, std::string_view op, size_t sides, diopiTensorHandle_t out,
                               diopiConstTensorHandle_t input, diopiSize_t output_size) {
    PoolImages p;
    const diopiError_t error = read_adaptive_pool(op, sides, view(out), view(input), output_size, p);
    if (error != diopiSuccess || p.out.numel() == 0) return error;
    return pool_means(ctx, p, MeanWindows::adaptive(p.in.sides(), p.out.sides()));
}

diopiError_t adaptive_avg_pool_backward(diopiContextHandle_t ctx, std::string_view op, size_t sides,
                                        diopiTensorHandle_t grad_input, diopiConstTensorHandle_t grad_output,
                                        diopiConstTensorHandle_t input) {
    PoolImages p;
    const diopiError_t error =
        read_adaptive_pool_backward(op, sides, view(grad_input), view(grad_output), view(input), p);
    if (error != diopiSuccess || p.in.numel() == 0) return error;
    if (p.out.numel() == 0) {
        fill({grad_input}, 0);
        return diopiSuccess;
    }
    return pool_means_backward(ctx, p, MeanWindows::adaptive(p.in.sides(), p.out.sides()));
}

#include "kernels/entries/pool_adaptive.inc"

}  // namespace diopi::cpu
