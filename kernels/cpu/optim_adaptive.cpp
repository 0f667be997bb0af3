/// Adadelta and RMSprop: one pass over the parameter and its state.
#include <cmath>
#include <vector>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/optim_step.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

/// out = param, square_avg, acc_delta; in = grad and those.
template <class T>
struct AdadeltaStep {
    T lr, rho, rest, eps, decay;

    static void run(void* const* out, const void* const* in, int64_t n, const void* state) {
        const AdadeltaStep s = *static_cast<const AdadeltaStep*>(state);
        T *to = static_cast<T*>(out[0]), *squares_to = static_cast<T*>(out[1]), *deltas_to = static_cast<T*>(out[2]);
        const T *grad = static_cast<const T*>(in[0]), *param = static_cast<const T*>(in[1]);
        const T *squares = static_cast<const T*>(in[2]), *deltas = static_cast<const T*>(in[3]);
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) {
            const T p = param[i], old = deltas[i], g = s.decay == 0 ? grad[i] : grad[i] + s.decay * p;
            const T square = s.rho * squares[i] + s.rest * g * g;
            const T delta = std::sqrt(old + s.eps) / std::sqrt(square + s.eps) * g;
            squares_to[i] = square;
            deltas_to[i] = s.rho * old + s.rest * delta * delta;
            to[i] = p - s.lr * delta;
        }
    }
};

/// out = param, square_avg, and grad_avg (kCentered) and momentum_buf (kMoves); in = grad and those.
template <class T>
struct RmspropStep {
    T lr, alpha, rest, eps, decay, momentum;

    template <bool kCentered, bool kMoves>
    static void run(void* const* out, const void* const* in, int64_t n, const void* state) {
        const RmspropStep s = *static_cast<const RmspropStep*>(state);
        T *to = static_cast<T*>(out[0]), *squares_to = static_cast<T*>(out[1]);
        const T *grad = static_cast<const T*>(in[0]), *param = static_cast<const T*>(in[1]);
        const T* squares = static_cast<const T*>(in[2]);
        const T* means = kCentered ? static_cast<const T*>(in[3]) : nullptr;
        T* means_to = kCentered ? static_cast<T*>(out[2]) : nullptr;
        const T* buffer = kMoves ? static_cast<const T*>(in[kCentered ? 4 : 3]) : nullptr;
        T* buffer_to = kMoves ? static_cast<T*>(out[kCentered ? 3 : 2]) : nullptr;
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) {
            const T p = param[i], g = s.decay == 0 ? grad[i] : grad[i] + s.decay * p;
            const T square = s.alpha * squares[i] + s.rest * g * g;
            T spread = square;
            if constexpr (kCentered) {
                const T mean = means[i] + s.rest * (g - means[i]);
                means_to[i] = mean;
                spread = square - mean * mean;
            }
            T step = g / (std::sqrt(spread) + s.eps);
            if constexpr (kMoves) {
                step = s.momentum * buffer[i] + step;
                buffer_to[i] = step;
            }
            squares_to[i] = square;
            to[i] = p - s.lr * step;
        }
    }
    [[nodiscard]] static TileFunction function(bool centered, bool moves) {
        if (centered) return moves ? best<run<true, true>>() : best<run<true, false>>();
        return moves ? best<run<false, true>>() : best<run<false, false>>();
    }
};

diopiError_t adadelta(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t param,
                      diopiConstTensorHandle_t grad, diopiTensorHandle_t square_avg, diopiTensorHandle_t acc_delta,
                      double lr, double rho, double eps, double weight_decay) {
    const StepTensor state[] = {
        {view(param), "param"}, {view(square_avg), "square_avg"}, {view(acc_delta), "acc_delta"}};
    return run_step(ctx, op, grad, state, [&]<class T>() {
        const AdadeltaStep<T> step{T(lr), T(rho), T(1 - rho), T(eps), T(weight_decay)};
        return std::pair{step, TileFunction(best<AdadeltaStep<T>::run>())};
    });
}

diopiError_t rmsprop(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t param,
                     diopiConstTensorHandle_t grad, diopiTensorHandle_t square_avg, diopiTensorHandle_t grad_avg,
                     diopiTensorHandle_t momentum_buf, double lr, double alpha, double eps, double weight_decay,
                     double momentum, bool centered) {
    const bool moves = momentum > 0;
    if (centered && grad_avg == nullptr) return refuse(op, "grad_avg is null, wanted a tensor for centered");
    if (moves && momentum_buf == nullptr) return refuse(op, "momentum_buf is null, wanted a tensor for a momentum");
    std::vector<StepTensor> state = {{view(param), "param"}, {view(square_avg), "square_avg"}};
    if (centered) state.push_back({view(grad_avg), "grad_avg"});
    if (moves) state.push_back({view(momentum_buf), "momentum_buf"});
    return run_step(ctx, op, grad, state, [&]<class T>() {
        const RmspropStep<T> step{T(lr), T(alpha), T(1 - alpha), T(eps), T(weight_decay), T(momentum)};
        return std::pair{step, RmspropStep<T>::function(centered, moves)};
    });
}

}  // namespace

#include "kernels/entries/optim_adaptive.inc"

}  // namespace diopi::cpu
