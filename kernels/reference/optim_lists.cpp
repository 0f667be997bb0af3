/// AdamW on many parameters, and gradients that are scaled together.
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/optim_adam.hpp"
#include "kernels/reference/reduction_norm.hpp"

namespace diopi::reference {

namespace {

void require_list(std::string_view argument, const void* list, int64_t count) {
    if (count >= 0 && (list != nullptr || count == 0)) return;
    refuse(std::string(argument) + " is null, wanted a list of " + std::to_string(count) + " tensors");
}

// ---- AdamW ----

double step_of(diopiConstTensorHandle_t tensor) {
    const Operand<double> step(tensor, "state_steps");
    if (step.numel() != 1)
        refuse("state_steps has a tensor of " + std::to_string(step.numel()) + " elements, wanted 1");
    return step[0];
}

/// A step of AdamW for each parameter. All tensors are checked before the first parameter changes.
diopiError_t fused_adamw(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t* params,
                         diopiConstTensorHandle_t* grads, diopiTensorHandle_t* exp_avgs,
                         diopiTensorHandle_t* exp_avg_sqs, diopiTensorHandle_t* max_exp_avg_sqs,
                         diopiConstTensorHandle_t* state_steps, int64_t count, double lr, double beta1, double beta2,
                         double eps, double weight_decay, bool amsgrad, bool maximize) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        require_list("grads", grads, count);
        require_list("state_steps", state_steps, count);
        if (amsgrad) require_list("max_exp_avg_sqs", max_exp_avg_sqs, count);
        std::vector<AdamTensors> tensors;
        for (int64_t k = 0; k < count; ++k) {
            const AdamTensors own{params[k], grads[k], exp_avgs[k], exp_avg_sqs[k],
                                  amsgrad ? max_exp_avg_sqs[k] : nullptr};
            for (const diopiConstTensorHandle_t each :
                 {diopiConstTensorHandle_t(own.param), own.grad, diopiConstTensorHandle_t(own.exp_avg),
                  diopiConstTensorHandle_t(own.exp_avg_sq), state_steps[k],
                  diopiConstTensorHandle_t(amsgrad ? own.max_exp_avg_sq : own.param)}) {
                if (each == nullptr) refuse("tensor " + std::to_string(k) + " of a list is null");
                if (each == state_steps[k]) continue;
                require_floating(each);
                require_shape("a tensor of its state", view_of(each).shape, view_of(own.param).shape);
            }
            tensors.push_back(own);
        }
        std::vector<double> steps;
        for (int64_t k = 0; k < count; ++k) steps.push_back(step_of(state_steps[k]));
        for (size_t k = 0; k < tensors.size(); ++k) {
            adam_step<T>(tensors[k], {lr, beta1, beta2, eps, weight_decay, steps[k], amsgrad, maximize}, true);
        }
    });
}

// ---- norms ----

template <class T>
T extreme_norm(const std::vector<T>& norms, bool is_greatest) {
    using std::isnan;
    T best = norms[0];
    for (const T& norm : norms) {
        if (isnan(norm)) return norm;
        if (is_greatest ? norm > best : best > norm) best = norm;
    }
    return best;
}

/// The norm of order p of norms, which are not negative; 0 if there is none.
template <class T>
T norm_of_norms(double p, const std::vector<T>& norms) {
    using std::isnan, std::sqrt;
    const auto count = static_cast<int64_t>(norms.size());
    const auto at = [&](int64_t k) { return norms[static_cast<size_t>(k)]; };
    if (count == 0) return T(0);
    if (std::isinf(p)) return extreme_norm(norms, p > 0);
    if (p == 0) return pairwise_sum<double>(count, [&](int64_t k) { return at(k) == T(0) ? 0.0 : 1.0; });
    if (p == 1) return pairwise_sum<T>(count, at);
    if (p == 2) return sqrt(pairwise_sum<T>(count, [&](int64_t k) { return at(k) * at(k); }));
    bool has_nan = false, has_zero = false;
    for (const T& norm : norms) has_nan |= isnan(norm), has_zero |= norm == T(0);
    if (p < 0 && has_zero && !has_nan) return T(0);  // the sum is infinite
    return power(pairwise_sum<T>(count, [&](int64_t k) { return power(at(k), p); }), 1 / p);
}

double given_back(double x) { return x; }
double given_back(const Inexact& x) { return x.error; }
double value_of(double x) { return x; }
double value_of(const Inexact& x) { return x.value; }

/// out = the norm of the norms of grads, which are multiplied by min(1, max_norm / (out + 1e-6)); a NaN stays NaN.
diopiError_t clip_grad_norm(diopiContextHandle_t ctx, std::string_view, double* out, diopiTensorHandle_t* grads,
                            int64_t count, double max_norm, double norm_type, bool error_if_nonfinite) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        require_list("grads", grads, count);
        std::vector<T> norms;
        for (int64_t k = 0; k < count; ++k) {
            if (grads[k] == nullptr) refuse("tensor " + std::to_string(k) + " of grads is null");
            require_floating(grads[k]);
            const Operand<double> x(grads[k], "grads");
            if (x.numel() == 0 && (norm_type < 0 || std::isinf(norm_type))) {
                refuse("grads has a tensor without elements, and no norm of order " + std::to_string(norm_type));
            }
            norms.push_back(norm_of<T>(norm_type, x.numel(), [&](int64_t i) { return x[i]; }));
        }
        const T total = norm_of_norms(norm_type, norms);
        if (error_if_nonfinite && !std::isfinite(value_of(total))) {
            refuse("the norm is " + std::to_string(value_of(total)) + ", wanted a finite one");
        }
        *out = given_back(total);
        T factor = T(max_norm) / (total + T(1e-6));
        if (factor > T(1)) factor = T(1);
        for (int64_t k = 0; k < count; ++k) {
            Output<T> x(grads[k], "grads", Output<T>::Start::kOldValues);
            for (int64_t i = 0; i < x.numel(); ++i) x[i] *= factor;
            x.store();
        }
    });
}

}  // namespace

#include "kernels/entries/optim_lists.inc"

}  // namespace diopi::reference
