/// Adam and AdamW: one pass over the parameter and its state.
#include "kernels/cpu/optim_adam.hpp"

#include <cmath>
#include <vector>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/optim_step.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

/// out = param, exp_avg, exp_avg_sq, and max_exp_avg_sq (kMost); in = grad and those. S: the type of the tensors, T or
/// Bfloat16.
template <class T, class S, bool kMost>
void run(void* const* out, const void* const* in, int64_t n, const void* factors) {
    const AdamFactors<T> s = *static_cast<const AdamFactors<T>*>(factors);
    S *to = static_cast<S*>(out[0]), *m_to = static_cast<S*>(out[1]), *v_to = static_cast<S*>(out[2]);
    S* most_to = kMost ? static_cast<S*>(out[3]) : nullptr;
    const S *grad = static_cast<const S*>(in[0]), *param = static_cast<const S*>(in[1]);
    const S *m = static_cast<const S*>(in[2]), *v = static_cast<const S*>(in[3]);
    const S* most = kMost ? static_cast<const S*>(in[4]) : nullptr;
    const auto put = [](S* place, T x) { *place = narrowed<S, AdamFactors<T>>(x); };
    const auto step = [&](int64_t i) {
        const T p = widened(param[i]), given = widened(grad[i]);
        const T g = s.decay == 0 ? given : std::fma(s.decay, p, given);
        const T first = std::fma(s.beta1, widened(m[i]), s.rest1 * g);
        const T second = std::fma(s.beta2, widened(v[i]), s.rest2 * g * g);
        put(m_to + i, first);
        put(v_to + i, second);
        T spread = second;
        if constexpr (kMost) {
            const T old = widened(most[i]);
            spread = old >= second ? old : second;
            put(most_to + i, spread);
        }
        put(to + i, s.shrink * p - s.rate * first / (std::sqrt(spread) * s.root + s.eps));
    };
    loop_ahead({grad, param, m, v}, n, step);
}

template <bool kDecoupled, class... Arguments>
diopiError_t adam(diopiContextHandle_t ctx, Arguments... arguments) {
    AdamArguments a{arguments...};
    if (const diopiError_t error = read_adam(a); error != diopiSuccess) return error;
    return step_adam(ctx, a, kDecoupled);
}

}  // namespace

diopiError_t step_adam(diopiContextHandle_t ctx, const AdamArguments& a, bool is_decoupled) {
    std::vector<StepTensor> state = {
        {view(a.param), "param"}, {view(a.exp_avg), "exp_avg"}, {view(a.exp_avg_sq), "exp_avg_sq"}};
    const bool has_most = a.max_exp_avg_sq != nullptr;
    if (has_most) state.push_back({view(a.max_exp_avg_sq), "max_exp_avg_sq"});
    return run_step(
        ctx, a.op, a.grad, state, [&]<class T, class S = T>() {
            const TileFunction body = has_most ? best<run<T, S, true>>() : best<run<T, S, false>>();
            return std::pair{AdamFactors<T>::of(a, is_decoupled), body};
        });
}

#include "kernels/entries/optim_adam.inc"

}  // namespace diopi::cpu
