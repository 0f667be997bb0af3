/// Adam and AdamW.
#include "kernels/reference/optim_adam.hpp"

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

template <bool kDecoupled>
diopiError_t adam(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t param, diopiConstTensorHandle_t grad,
                  diopiTensorHandle_t exp_avg, diopiTensorHandle_t exp_avg_sq, diopiTensorHandle_t max_exp_avg_sq,
                  double lr, double beta1, double beta2, double eps, double weight_decay, int64_t step, bool amsgrad) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        adam_step<T>({param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq},
                     {lr, beta1, beta2, eps, weight_decay, static_cast<double>(step), amsgrad}, kDecoupled);
    });
}

}  // namespace

#include "kernels/entries/optim_adam.inc"

}  // namespace diopi::reference
