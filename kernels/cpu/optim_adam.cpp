/// Adam and AdamW: one pass over the parameter and its state.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/onednn_threads.hpp"
#include "kernels/cpu/operators.hpp"

namespace diopi::cpu {

namespace {

struct Tensors {
    diopiTensorHandle_t param;
    diopiConstTensorHandle_t grad;
    diopiTensorHandle_t exp_avg, exp_avg_sq, max_exp_avg_sq;  ///< the last one null without amsgrad
};

struct Numbers {
    double lr, beta1, beta2, eps, weight_decay;
    int64_t step;
};

/// The factors of one step: param = shrink * param - rate * m / (sqrt(v) * root + eps).
template <class T>
struct AdamStep {
    T beta1, rest1, beta2, rest2, decay, shrink, rate, root, eps;

    AdamStep(const Numbers& n, bool decoupled)
        : beta1(T(n.beta1)),
          rest1(T(1 - n.beta1)),
          beta2(T(n.beta2)),
          rest2(T(1 - n.beta2)),
          decay(T(decoupled ? 0 : n.weight_decay)),
          shrink(T(decoupled ? 1 - n.lr * n.weight_decay : 1)),
          rate(T(n.lr / (1 - std::pow(n.beta1, static_cast<double>(n.step))))),
          root(T(1 / std::sqrt(1 - std::pow(n.beta2, static_cast<double>(n.step))))),
          eps(T(n.eps)) {}
};

/// Memory of the old and of the new values, which may be the same.
template <class T>
struct Lane {
    const T* from = nullptr;
    T* to = nullptr;
};

template <class T, bool kMost>
void run(const AdamStep<T>& s, int64_t begin, int64_t end, Lane<T> param, const T* grad, Lane<T> m, Lane<T> v,
         Lane<T> most) {
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
diopiError_t step_in(diopiContextHandle_t ctx, const Tensors& t, const Numbers& numbers, bool decoupled) {
    Staging staging(ctx);
    const auto lane = [&](diopiTensorHandle_t tensor) {
        const T* from = staging.in<T>(static_cast<diopiConstTensorHandle_t>(tensor));
        return Lane<T>{from, staging.out<T>(tensor)};
    };
    const T* grad = staging.in<T>(t.grad);
    const Lane<T> param = lane(t.param), m = lane(t.exp_avg), v = lane(t.exp_avg_sq), most = lane(t.max_exp_avg_sq);
    if (staging.error() != diopiSuccess) return staging.error();
    const AdamStep<T> s(numbers, decoupled);
    const auto body = t.max_exp_avg_sq != nullptr ? run<T, true> : run<T, false>;
    parallel_for(view(t.param).numel, 1,
                 [&](int64_t begin, int64_t end) { body(s, begin, end, param, grad, m, v, most); });
    return staging.finish();
}

diopiError_t adam_step(diopiContextHandle_t ctx, std::string_view op, const Tensors& t, const Numbers& numbers,
                       bool decoupled) {
    const std::pair<diopiConstTensorHandle_t, std::string_view> arguments[] = {{t.param, "param"},
                                                                               {t.grad, "grad"},
                                                                               {t.exp_avg, "exp_avg"},
                                                                               {t.exp_avg_sq, "exp_avg_sq"},
                                                                               {t.max_exp_avg_sq, "max_exp_avg_sq"}};
    const View p = view(t.param);
    for (const auto& [tensor, argument] : arguments) {
        if (tensor == nullptr) continue;
        const View v = view(tensor);
        if (!is_floating(v.dtype)) return unsupported(op, argument, v.dtype, "a floating dtype");
        if (!std::ranges::equal(v.shape, p.shape)) {
            return wrong_shape(op, argument, v.shape, "param's " + to_string(p.shape));
        }
    }
    const bool wide = p.dtype == Dtype::float64;
    return (wide ? step_in<double> : step_in<float>)(ctx, t, numbers, decoupled);
}

/// The largest variance so far has a say with amsgrad only.
diopiError_t pick_most(std::string_view op, bool amsgrad, diopiTensorHandle_t& most) {
    if (!amsgrad) most = nullptr;
    if (!amsgrad || most != nullptr) return diopiSuccess;
    return fail(diopiErrorOccurred, std::string(op) + ": max_exp_avg_sq is null, wanted a tensor for amsgrad");
}

}  // namespace

diopiError_t diopiAdam(diopiContextHandle_t ctx, diopiTensorHandle_t param, diopiConstTensorHandle_t grad,
                       diopiTensorHandle_t exp_avg, diopiTensorHandle_t exp_avg_sq, diopiTensorHandle_t max_exp_avg_sq,
                       float lr, float beta1, float beta2, float eps, float weight_decay, int64_t step, bool amsgrad) {
    if (const auto error = pick_most("diopiAdam", amsgrad, max_exp_avg_sq); error != diopiSuccess) return error;
    return adam_step(ctx, "diopiAdam", {param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq},
                     {lr, beta1, beta2, eps, weight_decay, step}, false);
}

diopiError_t diopiAdamW(diopiContextHandle_t ctx, diopiTensorHandle_t param, diopiConstTensorHandle_t grad,
                        diopiTensorHandle_t exp_avg, diopiTensorHandle_t exp_avg_sq, diopiTensorHandle_t max_exp_avg_sq,
                        float lr, float beta1, float beta2, float eps, float weight_decay, int64_t step, bool amsgrad) {
    if (const auto error = pick_most("diopiAdamW", amsgrad, max_exp_avg_sq); error != diopiSuccess) return error;
    return adam_step(ctx, "diopiAdamW", {param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq},
                     {lr, beta1, beta2, eps, weight_decay, step}, true);
}

}  // namespace diopi::cpu
