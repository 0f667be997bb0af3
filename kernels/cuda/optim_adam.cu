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

template <bool kDecoupled, class... Arguments>
diopiError_t adam(diopiContextHandle_t ctx, Arguments... arguments) {
    AdamArguments a{arguments...};
    if (const diopiError_t error = read_adam(a); error != diopiSuccess) return error;
    const View p = view(a.param), g = view(a.grad), m = view(a.exp_avg), v = view(a.exp_avg_sq);
    const auto run = [&]<class C>() {
        const auto factors = AdamFactors<C>::of(a, kDecoupled);
        if (!a.amsgrad) return take_step<C>(ctx, a.op, Adam<C, false>{factors}, {p, g, m, v});
        return take_step<C>(ctx, a.op, Adam<C, true>{factors}, {p, g, m, v, view(a.max_exp_avg_sq)});
    };
    return p.dtype == Dtype::float64 ? run.template operator()<double>() : run.template operator()<float>();
}

}  // namespace

#include "kernels/entries/optim_adam.inc"

}  // namespace diopi::cuda
