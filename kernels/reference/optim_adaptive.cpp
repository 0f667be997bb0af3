/// Adadelta and RMSprop: steps that squares of earlier gradients scale.
#include <cmath>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// A tensor of the state, which the step overwrites.
template <class T>
Output<T> state_of(diopiTensorHandle_t tensor, std::string_view argument, ShapeView shape) {
    Output<T> state(tensor, argument, Output<T>::Start::kOldValues);
    if (tensor != nullptr) require_shape(argument, state.shape(), shape);
    return state;
}

/// g = grad + weight_decay param, where weight_decay is not 0.
template <class T>
T decayed(const T& grad, const T& param, double weight_decay) {
    return weight_decay == 0 ? grad : grad + T(weight_decay) * param;
}

/// square_avg = rho square_avg + (1 - rho) g^2, d = g sqrt(acc_delta + eps) / sqrt(square_avg + eps), acc_delta = rho
/// acc_delta + (1 - rho) d^2, param -= lr d. A root of a number below 0 is NaN. Source: torch.optim.Adadelta.
diopiError_t adadelta(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t param,
                      diopiConstTensorHandle_t grad, diopiTensorHandle_t square_avg, diopiTensorHandle_t acc_delta,
                      double lr, double rho, double eps, double weight_decay) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        using std::sqrt;
        const Operand<T> g(grad, "grad");
        auto p = state_of<T>(param, "param", g.shape());
        auto squares = state_of<T>(square_avg, "square_avg", g.shape());
        auto deltas = state_of<T>(acc_delta, "acc_delta", g.shape());
        for (int64_t i = 0; i < p.numel(); ++i) {
            const T slope = decayed<T>(g[i], p[i], weight_decay);
            squares[i] = T(rho) * squares[i] + T(1 - rho) * slope * slope;
            const T delta = sqrt(deltas[i] + T(eps)) / sqrt(squares[i] + T(eps)) * slope;
            deltas[i] = T(rho) * deltas[i] + T(1 - rho) * delta * delta;
            p[i] -= T(lr) * delta;
        }
        p.store();
        squares.store();
        deltas.store();
    });
}

/// square_avg = alpha square_avg + (1 - alpha) g^2, a = sqrt(square_avg) + eps; centered: grad_avg moves by 1 - alpha
/// to g, a = sqrt(square_avg - grad_avg^2) + eps. momentum above 0: momentum_buf = momentum momentum_buf + g / a, param
/// -= lr momentum_buf, else param -= lr g / a. Source: torch.optim.RMSprop.
diopiError_t rmsprop(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t param,
                     diopiConstTensorHandle_t grad, diopiTensorHandle_t square_avg, diopiTensorHandle_t grad_avg,
                     diopiTensorHandle_t momentum_buf, double lr, double alpha, double eps, double weight_decay,
                     double momentum, bool centered) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        using std::sqrt;
        const Operand<T> g(grad, "grad");
        auto p = state_of<T>(param, "param", g.shape());
        auto squares = state_of<T>(square_avg, "square_avg", g.shape());
        auto means = state_of<T>(centered ? grad_avg : nullptr, centered ? "grad_avg" : "unused?", g.shape());
        const bool moves = momentum > 0;
        auto buffer = state_of<T>(moves ? momentum_buf : nullptr, moves ? "momentum_buf" : "unused?", g.shape());
        for (int64_t i = 0; i < p.numel(); ++i) {
            const T slope = decayed<T>(g[i], p[i], weight_decay);
            squares[i] = T(alpha) * squares[i] + T(1 - alpha) * slope * slope;
            T spread = squares[i];
            if (centered) {
                means[i] = means[i] + T(1 - alpha) * (slope - means[i]);
                spread = squares[i] - means[i] * means[i];
            }
            T step = slope / (sqrt(spread) + T(eps));
            if (moves) step = buffer[i] = T(momentum) * buffer[i] + step;
            p[i] -= T(lr) * step;
        }
        p.store();
        squares.store();
        means.store();
        buffer.store();
    });
}

}  // namespace

#include "kernels/entries/optim_adaptive.inc"

}  // namespace diopi::reference
