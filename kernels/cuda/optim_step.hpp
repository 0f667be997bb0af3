/// The numbers of an optimiser's step, in its compute type.
#pragma once

#include <cmath>
#include <cstdint>

namespace diopi::cuda {

/// The arguments of diopiAdam and diopiAdamW.
struct AdamNumbers {
    double lr, beta1, beta2, eps, weight_decay;
    int64_t step;       ///< from 1
    bool is_decoupled;  ///< weight_decay shrinks the parameter instead of adding to its gradient (AdamW)
};

/// param = shrink * param - rate * m / (sqrt(v) * root + eps), where m and v are means with weights of beta and rest.
/// Source: torch.optim.Adam, its corrections of the bias drawn into rate and root.
template <class C>
struct AdamFactors {
    C beta1, rest1, beta2, rest2, decay, shrink, rate, root, eps;

    [[nodiscard]] static AdamFactors of(const AdamNumbers& n) {
        const auto steps = static_cast<double>(n.step);
        const double seen1 = 1 - std::pow(n.beta1, steps), seen2 = 1 - std::pow(n.beta2, steps);
        return {static_cast<C>(n.beta1),
                static_cast<C>(1 - n.beta1),
                static_cast<C>(n.beta2),
                static_cast<C>(1 - n.beta2),
                static_cast<C>(n.is_decoupled ? 0 : n.weight_decay),
                static_cast<C>(n.is_decoupled ? 1 - n.lr * n.weight_decay : 1),
                static_cast<C>(n.lr / seen1),
                static_cast<C>(1 / std::sqrt(seen2)),
                static_cast<C>(n.eps)};
    }
};

}  // namespace diopi::cuda
