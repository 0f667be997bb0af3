/// adam and adamw.
#include "kernels/cuda/operators.hpp"
#include "kernels/cuda/optim.cuh"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/optim.hpp"

namespace diopi::cuda {

namespace {

/// A step on param, grad, exp_avg, exp_avg_sq and, where `kHasMost` (amsgrad), max_exp_avg_sq.
template <class C, bool kHasMost>
struct Adam {
    static constexpr int kTensors = kHasMost ? 5 : 4;
    AdamFactors<C> s;

    __device__ void operator()(C (&values)[kTensors]) const {
        const C param = values[0];
        const C grad = s.decay == C(0) ? values[1] : fma(s.decay, param, values[1]);
        const C first = fma(s.beta1, values[2], s.rest1 * grad);
        const C second = fma(s.beta2, values[3], s.rest2 * grad * grad);
        values[2] = first;
        values[3] = second;
        C spread = second;
        if constexpr (kHasMost) {
            // A NaN of the new one is kept.
            spread = values[4] >= second ? values[4] : second;
            values[4] = spread;
        }
        values[0] = s.shrink * param - s.rate * first / (sqrt(spread) * s.root + s.eps);
    }
};

template <bool kDecoupled>
diopiError_t adam(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t param,
                  diopiConstTensorHandle_t grad, diopiTensorHandle_t exp_avg, diopiTensorHandle_t exp_avg_sq,
                  diopiTensorHandle_t max_exp_avg_sq, float lr, float beta1, float beta2, float eps, float weight_decay,
                  int64_t step, bool amsgrad) {
    AdamTensors t{param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq};
    if (const diopiError_t error = read_adam(op, amsgrad, t); error != diopiSuccess) return error;
    const View p = view(param), g = view(grad), m = view(exp_avg), v = view(exp_avg_sq);
    const auto run = [&]<class C>() {
        const auto factors = AdamFactors<C>::of({lr, beta1, beta2, eps, weight_decay, step, kDecoupled});
        if (!amsgrad) return take_step<C>(ctx, op, Adam<C, false>{factors}, {p, g, m, v});
        return take_step<C>(ctx, op, Adam<C, true>{factors}, {p, g, m, v, view(max_exp_avg_sq)});
    };
    return p.dtype == Dtype::float64 ? run.template operator()<double>() : run.template operator()<float>();
}

}  // namespace

#include "kernels/entries/optim_adam.inc"

}  // namespace diopi::cuda
