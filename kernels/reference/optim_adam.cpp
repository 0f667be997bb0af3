/// Adam and AdamW.
#include <cmath>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2, param -= lr m' / (sqrt(v') + eps), where m' = m /
/// (1 - beta1^step), v' = v / (1 - beta2^step), and with amsgrad v' comes from the largest v so far. Weight decay adds
/// to g (Adam) or shrinks param first (AdamW, kDecoupled). step counts from 1. Source: torch.optim.Adam, AdamW.
template <bool kDecoupled>
diopiError_t adam(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t param, diopiConstTensorHandle_t grad,
                  diopiTensorHandle_t exp_avg, diopiTensorHandle_t exp_avg_sq, diopiTensorHandle_t max_exp_avg_sq,
                  double lr, double beta1, double beta2, double eps, double weight_decay, int64_t step, bool amsgrad) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        using std::isnan, std::sqrt;
        using Inout = Output<T>;
        Inout p(param, "param", Inout::Start::kOldValues);
        const Operand<T> gradient(grad, "grad");
        Inout m(exp_avg, "exp_avg", Inout::Start::kOldValues);
        Inout v(exp_avg_sq, "exp_avg_sq", Inout::Start::kOldValues);
        Inout most(amsgrad ? max_exp_avg_sq : nullptr, amsgrad ? "max_exp_avg_sq" : "unused?",
                   Inout::Start::kOldValues);
        require_shape("grad", gradient.shape(), p.shape());
        require_shape("exp_avg", m.shape(), p.shape());
        require_shape("exp_avg_sq", v.shape(), p.shape());
        if (most) require_shape("max_exp_avg_sq", most.shape(), p.shape());
        const auto steps = static_cast<double>(step);
        const T correction1 = 1.0 - std::pow(beta1, steps);
        const T correction2 = 1.0 - std::pow(beta2, steps);
        for (int64_t i = 0; i < p.numel(); ++i) {
            T g = gradient[i];
            if (kDecoupled)
                p[i] *= 1.0 - lr * weight_decay;
            else if (weight_decay != 0.0)
                g += weight_decay * p[i];
            m[i] = beta1 * m[i] + (1.0 - beta1) * g;
            v[i] = beta2 * v[i] + (1.0 - beta2) * g * g;
            if (most) most[i] = isnan(v[i]) || v[i] > most[i] ? v[i] : most[i];
            const T second = (most ? most[i] : v[i]) / correction2;
            p[i] -= lr * (m[i] / correction1) / (sqrt(second) + eps);
        }
        p.store();
        m.store();
        v.store();
        most.store();
    });
}

}  // namespace

#include "kernels/entries/optim_adam.inc"

}  // namespace diopi::reference
