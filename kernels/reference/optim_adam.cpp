/// Adam and AdamW.
#include <cmath>

#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

struct Tensors {
    diopiTensorHandle_t param;
    diopiConstTensorHandle_t grad;
    diopiTensorHandle_t exp_avg, exp_avg_sq, max_exp_avg_sq;
};

struct Numbers {
    double lr, beta1, beta2, eps, weight_decay;
    int64_t step;
    bool amsgrad;
};

/// m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2, param -= lr m' / (sqrt(v') + eps), where m' = m /
/// (1 - beta1^step), v' = v / (1 - beta2^step), and with amsgrad v' comes from the largest v so far. Weight decay adds
/// to g (Adam) or shrinks param first (AdamW, `decoupled`). step counts from 1. Source: torch.optim.Adam, AdamW.
diopiError_t adam_step(const Tensors& t, const Numbers& numbers, bool decoupled) {
    return kernel([&] {
        using Inout = Output<double>;
        Inout p(t.param, "param", Inout::Start::kOldValues);
        const Operand<double> grad(t.grad, "grad");
        Inout m(t.exp_avg, "exp_avg", Inout::Start::kOldValues);
        Inout v(t.exp_avg_sq, "exp_avg_sq", Inout::Start::kOldValues);
        Inout most(numbers.amsgrad ? t.max_exp_avg_sq : nullptr, numbers.amsgrad ? "max_exp_avg_sq" : "unused?",
                   Inout::Start::kOldValues);
        require_shape("grad", grad.shape(), p.shape());
        require_shape("exp_avg", m.shape(), p.shape());
        require_shape("exp_avg_sq", v.shape(), p.shape());
        if (most) require_shape("max_exp_avg_sq", most.shape(), p.shape());
        const double step = static_cast<double>(numbers.step);
        const double correction1 = 1.0 - std::pow(numbers.beta1, step);
        const double correction2 = 1.0 - std::pow(numbers.beta2, step);
        for (int64_t i = 0; i < p.numel(); ++i) {
            double g = grad[i];
            if (decoupled)
                p[i] *= 1.0 - numbers.lr * numbers.weight_decay;
            else if (numbers.weight_decay != 0.0)
                g += numbers.weight_decay * p[i];
            m[i] = numbers.beta1 * m[i] + (1.0 - numbers.beta1) * g;
            v[i] = numbers.beta2 * v[i] + (1.0 - numbers.beta2) * g * g;
            if (most) most[i] = std::isnan(v[i]) || v[i] > most[i] ? v[i] : most[i];
            const double second = (most ? most[i] : v[i]) / correction2;
            p[i] -= numbers.lr * (m[i] / correction1) / (std::sqrt(second) + numbers.eps);
        }
        p.store();
        m.store();
        v.store();
        most.store();
    });
}

}  // namespace

diopiError_t diopiAdam(diopiContextHandle_t, diopiTensorHandle_t param, diopiConstTensorHandle_t grad,
                       diopiTensorHandle_t exp_avg, diopiTensorHandle_t exp_avg_sq, diopiTensorHandle_t max_exp_avg_sq,
                       float lr, float beta1, float beta2, float eps, float weight_decay, int64_t step, bool amsgrad) {
    return adam_step({param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq},
                     {lr, beta1, beta2, eps, weight_decay, step, amsgrad}, false);
}

diopiError_t diopiAdamW(diopiContextHandle_t, diopiTensorHandle_t param, diopiConstTensorHandle_t grad,
                        diopiTensorHandle_t exp_avg, diopiTensorHandle_t exp_avg_sq, diopiTensorHandle_t max_exp_avg_sq,
                        float lr, float beta1, float beta2, float eps, float weight_decay, int64_t step, bool amsgrad) {
    return adam_step({param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq},
                     {lr, beta1, beta2, eps, weight_decay, step, amsgrad}, true);
}

}  // namespace diopi::reference
