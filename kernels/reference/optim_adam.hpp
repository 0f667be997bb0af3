/// A step of Adam for one parameter.
#pragma once

#include <cmath>

#include "kernels/reference/operand.hpp"

namespace diopi::reference {

struct AdamTensors {
    diopiTensorHandle_t param;
    diopiConstTensorHandle_t grad;
    diopiTensorHandle_t exp_avg, exp_avg_sq, max_exp_avg_sq;
};

struct AdamNumbers {
    double lr, beta1, beta2, eps, weight_decay, step;
    bool amsgrad, maximize = false;
};

/// m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2, param -= lr m' / (sqrt(v') + eps), where m' = m /
/// (1 - beta1^step), v' = v / (1 - beta2^step), and with amsgrad v' comes from the largest v so far. Weight decay adds
/// to g (Adam) or shrinks param first (AdamW, is_decoupled). maximize changes the sign of g. step counts from 1.
/// Source: torch.optim.Adam, AdamW.
template <class T>
void adam_step(const AdamTensors& tensors, const AdamNumbers& n, bool is_decoupled) {
    using std::isnan, std::sqrt;
    using Inout = Output<T>;
    Inout p(tensors.param, "param", Inout::Start::kOldValues);
    const Operand<T> gradient(tensors.grad, "grad");
    Inout m(tensors.exp_avg, "exp_avg", Inout::Start::kOldValues);
    Inout v(tensors.exp_avg_sq, "exp_avg_sq", Inout::Start::kOldValues);
    Inout most(n.amsgrad ? tensors.max_exp_avg_sq : nullptr, n.amsgrad ? "max_exp_avg_sq" : "unused?",
               Inout::Start::kOldValues);
    require_shape("grad", gradient.shape(), p.shape());
    require_shape("exp_avg", m.shape(), p.shape());
    require_shape("exp_avg_sq", v.shape(), p.shape());
    if (most) require_shape("max_exp_avg_sq", most.shape(), p.shape());
    const T correction1 = 1.0 - std::pow(n.beta1, n.step);
    const T correction2 = 1.0 - std::pow(n.beta2, n.step);
    for (int64_t i = 0; i < p.numel(); ++i) {
        T g = n.maximize ? -T(gradient[i]) : T(gradient[i]);
        if (is_decoupled)
            p[i] *= 1.0 - n.lr * n.weight_decay;
        else if (n.weight_decay != 0.0)
            g += n.weight_decay * p[i];
        m[i] = n.beta1 * m[i] + (1.0 - n.beta1) * g;
        v[i] = n.beta2 * v[i] + (1.0 - n.beta2) * g * g;
        if (most) most[i] = isnan(v[i]) || v[i] > most[i] ? v[i] : most[i];
        const T second = (most ? most[i] : v[i]) / correction2;
        p[i] -= n.lr * (m[i] / correction1) / (sqrt(second) + n.eps);
    }
    p.store();
    m.store();
    v.store();
    most.store();
}

}  // namespace diopi::reference
