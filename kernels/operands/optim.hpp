/// Optimiser steps: their arguments, checked, and their numbers in the compute type. Shared by the backends cpu and
/// cuda.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/operands/view.hpp"

namespace diopi::operands {

/// The arguments of diopiAdam and diopiAdamW in their order.
struct AdamArguments {
    std::string_view op;
    diopiTensorHandle_t param;
    diopiConstTensorHandle_t grad;
    diopiTensorHandle_t exp_avg, exp_avg_sq, max_exp_avg_sq;
    double lr, beta1, beta2, eps, weight_decay;
    int64_t step;  ///< from 1
    bool amsgrad;
    bool maximize = false;  ///< against the gradient's sign; with a decoupled weight decay only
};

/// param = shrink * param - rate * m / (sqrt(v) * root + eps), where m and v are means with weights of beta and rest.
/// Source: torch.optim.Adam, with its bias corrections in rate and root.
template <class C>
struct AdamFactors {
    C beta1, rest1, beta2, rest2, decay, shrink, rate, root, eps;

    /// is_decoupled: weight_decay shrinks the parameter instead of adding to its gradient (AdamW).
    [[nodiscard]] static AdamFactors of(const AdamArguments& n, bool is_decoupled) {
        const auto steps = static_cast<double>(n.step);
        const double seen1 = 1 - std::pow(n.beta1, steps), seen2 = 1 - std::pow(n.beta2, steps);
        return {static_cast<C>(n.beta1),
                static_cast<C>(n.maximize ? n.beta1 - 1 : 1 - n.beta1),
                static_cast<C>(n.beta2),
                static_cast<C>(1 - n.beta2),
                static_cast<C>(is_decoupled ? 0 : n.weight_decay),
                static_cast<C>(is_decoupled ? 1 - n.lr * n.weight_decay : 1),
                static_cast<C>(n.lr / seen1),
                static_cast<C>(1 / std::sqrt(seen2)),
                static_cast<C>(n.eps)};
    }
};

/// A tensor of a step, and its argument.
struct StepTensor {
    View view;
    std::string_view name;
};
/// Refuses tensors that are not floating, or of another shape than the first one, the parameter.
[[nodiscard]] diopiError_t check_step(std::string_view op, std::span<const StepTensor> tensors);

/// The tensors of a step of gradient descent. Refuses those that are not floating, or of another shape than param.
struct SgdTensors {
    View param, grad, buf;
    bool has_buf = false;  ///< momentum 0 leaves buf as it is
};
[[nodiscard]] diopiError_t read_sgd(std::string_view op, diopiTensorHandle_t param, diopiTensorHandle_t grad,
                                    diopiTensorHandle_t buf, double momentum, SgdTensors& tensors);

/// Refuses tensors that are not floating, or of another shape than param. Without amsgrad max_exp_avg_sq becomes null;
/// with it, null is refused.
[[nodiscard]] diopiError_t read_adam(AdamArguments& a);

}  // namespace diopi::operands
