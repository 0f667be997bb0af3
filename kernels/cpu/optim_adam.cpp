/// Adam and AdamW: one pass over the parameter and its state.
#include "kernels/cpu/optim_adam.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/instruction_sets.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

/// Memory of the old and of the new values, which may be the same.
template <class T>
struct Lane {
    const T* from = nullptr;
    T* to = nullptr;
};

template <class T, bool kMost>
void run(const AdamFactors<T>& given, int64_t begin, int64_t end, Lane<T> param, const T* grad, Lane<T> m, Lane<T> v,
         Lane<T> most) {
    const AdamFactors<T> s = given;
#pragma GCC ivdep
    for (int64_t i = begin; i < end; ++i) {
        const T p = param.from[i];
        const T g = s.decay == 0 ? grad[i] : std::fma(s.decay, p, grad[i]);
        const T first = std::fma(s.beta1, m.from[i], s.rest1 * g);
        const T second = std::fma(s.beta2, v.from[i], s.rest2 * g * g);
        m.to[i] = first;
        v.to[i] = second;
        T spread = second;
        if constexpr (kMost) {
            spread = most.from[i] >= second ? most.from[i] : second;
            most.to[i] = spread;
        }
        param.to[i] = s.shrink * p - s.rate * first / (std::sqrt(spread) * s.root + s.eps);
    }
}

template <class T>
diopiError_t step_in(diopiContextHandle_t ctx, const AdamArguments& a, bool is_decoupled) {
    Staging staging(ctx);
    const auto lane = [&](diopiTensorHandle_t tensor) {
        const T* from = staging.in<T>(static_cast<diopiConstTensorHandle_t>(tensor));
        return Lane<T>{from, staging.out<T>(tensor)};
    };
    const T* grad = staging.in<T>(a.grad);
    const Lane<T> param = lane(a.param), m = lane(a.exp_avg), v = lane(a.exp_avg_sq), most = lane(a.max_exp_avg_sq);
    if (staging.error() != diopiSuccess) return staging.error();
    const auto s = AdamFactors<T>::of(a, is_decoupled);
    const auto body = a.max_exp_avg_sq != nullptr ? best<run<T, true>>() : best<run<T, false>>();
    parallel_for(view(a.param).numel, 1,
                 [&](int64_t begin, int64_t end) { body(s, begin, end, param, grad, m, v, most); });
    return staging.finish();
}

template <bool kDecoupled, class... Arguments>
diopiError_t adam(diopiContextHandle_t ctx, Arguments... arguments) {
    AdamArguments a{arguments...};
    if (const diopiError_t error = read_adam(a); error != diopiSuccess) return error;
    return step_adam(ctx, a, kDecoupled);
}

}  // namespace

diopiError_t step_adam(diopiContextHandle_t ctx, const AdamArguments& a, bool is_decoupled) {
    return (view(a.param).dtype == Dtype::float64 ? step_in<double> : step_in<float>)(ctx, a, is_decoupled);
}

#include "kernels/entries/optim_adam.inc"

}  // namespace diopi::cpu
