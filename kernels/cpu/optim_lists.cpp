/// AdamW on many parameters, and gradients that are scaled together. All tensors of a call are checked before the first
/// one changes.
#include <cmath>
#include <string>
#include <vector>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/optim_adam.hpp"
#include "kernels/cpu/reduction_norm.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

diopiError_t check_list(std::string_view op, const char* argument, const void* list, int64_t count) {
    if (count >= 0 && (list != nullptr || count == 0)) return diopiSuccess;
    return refuse(op, std::string(argument) + " is null, wanted a list of " + std::to_string(count) + " tensors");
}

// ---- AdamW ----

diopiError_t read_step(std::string_view op, const View& number, int64_t& step) {
    if (is_complex(number.dtype)) return unsupported(op, "state_steps", number.dtype, "a real dtype");
    if (number.numel != 1) return wrong_shape(op, "state_steps", number.shape, "tensors of one element");
    double value = 0;
    View to = element(&value, Dtype::float64);
    to.shape = number.shape;
    to.strides = number.strides;
    copy(number, to);
    step = static_cast<int64_t>(value);
    return diopiSuccess;
}

/// The arrays of the call.
struct AdamLists {
    diopiTensorHandle_t* params;
    diopiConstTensorHandle_t* grads;
    diopiTensorHandle_t *exp_avgs, *exp_avg_sqs, *max_exp_avg_sqs;
    diopiConstTensorHandle_t* state_steps;
};

/// Reads the tensors at k into `a`.
diopiError_t read_parameter(const AdamLists& lists, int64_t k, AdamArguments& a) {
    a.param = lists.params[k];
    a.grad = lists.grads[k];
    a.exp_avg = lists.exp_avgs[k];
    a.exp_avg_sq = lists.exp_avg_sqs[k];
    a.max_exp_avg_sq = a.amsgrad ? lists.max_exp_avg_sqs[k] : nullptr;
    if (a.param == nullptr) return null_in_list(a.op, "params", k);
    if (a.grad == nullptr) return null_in_list(a.op, "grads", k);
    if (a.exp_avg == nullptr) return null_in_list(a.op, "exp_avgs", k);
    if (a.exp_avg_sq == nullptr) return null_in_list(a.op, "exp_avg_sqs", k);
    if (lists.state_steps[k] == nullptr) return null_in_list(a.op, "state_steps", k);
    const diopiError_t error = read_step(a.op, view(lists.state_steps[k]), a.step);
    return error == diopiSuccess ? read_adam(a) : error;
}

diopiError_t fused_adamw(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t* params,
                         diopiConstTensorHandle_t* grads, diopiTensorHandle_t* exp_avgs,
                         diopiTensorHandle_t* exp_avg_sqs, diopiTensorHandle_t* max_exp_avg_sqs,
                         diopiConstTensorHandle_t* state_steps, int64_t count, double lr, double beta1, double beta2,
                         double eps, double weight_decay, bool amsgrad, bool maximize) {
    diopiError_t error = check_list(op, "grads", grads, count);
    if (error == diopiSuccess) error = check_list(op, "state_steps", state_steps, count);
    if (error == diopiSuccess && amsgrad) error = check_list(op, "max_exp_avg_sqs", max_exp_avg_sqs, count);
    if (error != diopiSuccess) return error;
    const AdamLists lists{params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps};
    AdamArguments shared{};
    shared.op = op;
    shared.lr = lr, shared.beta1 = beta1, shared.beta2 = beta2, shared.eps = eps, shared.weight_decay = weight_decay;
    shared.amsgrad = amsgrad, shared.maximize = maximize;
    std::vector<AdamArguments> steps(static_cast<size_t>(count), shared);
    for (int64_t k = 0; k < count; ++k) {
        error = read_parameter(lists, k, steps[static_cast<size_t>(k)]);
        if (error != diopiSuccess) return error;
    }
    for (const AdamArguments& step : steps) {
        if (error = step_adam(ctx, step, true); error != diopiSuccess) return error;
    }
    return diopiSuccess;
}

// ---- norms ----

diopiError_t clip_grad_norm(diopiContextHandle_t ctx, std::string_view op, double* out, diopiTensorHandle_t* grads,
                            int64_t count, double max_norm, double norm_type, bool error_if_nonfinite) {
    diopiError_t error = check_list(op, "grads", grads, count);
    for (int64_t k = 0; error == diopiSuccess && k < count; ++k) {
        if (grads[k] == nullptr) return null_in_list(op, "grads", k);
        error = check_norm(op, "grads", view(grads[k]), norm_type, true);
    }
    if (error != diopiSuccess) return error;
    std::vector<double> norms(static_cast<size_t>(count));
    for (size_t k = 0; k < norms.size(); ++k) {
        error = norm_over(op, element(&norms[k], Dtype::float64), view(grads[k]), {}, norm_type);
        if (error != diopiSuccess) return error;
    }
    double total = 0;
    const DensePart all(count);
    if (count > 0) {
        const View each = all.of(element(norms.data(), Dtype::float64), 0);
        error = norm_over(op, element(&total, Dtype::float64), each, {}, norm_type);
    }
    if (error != diopiSuccess) return error;
    if (error_if_nonfinite && !std::isfinite(total)) {
        return refuse(op, "the norm is " + std::to_string(total) + ", wanted a finite one");
    }
    *out = total;
    const double factor = max_norm / (total + 1e-6);
    if (factor >= 1) return diopiSuccess;
    const diopiScalar_t number{diopi_dtype_float64, {.fval = factor}};
    for (int64_t k = 0; k < count && error == diopiSuccess; ++k) {
        error = diopiMulInpScalar(ctx, grads[k], &number);
    }
    return error;
}

}  // namespace

#include "kernels/entries/optim_lists.inc"

}  // namespace diopi::cpu
