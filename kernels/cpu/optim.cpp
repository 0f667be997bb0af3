/// Optimiser steps.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/tile.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/optim.hpp"

namespace diopi::cpu {

namespace {

/// The step of diopiSgd on tiles: out = param, buf; in = param, grad, buf. Without buf (out and in are shorter by it)
/// the velocity is d. Factors of 0 leave their term out, so that an infinity there does not become NaN.
template <class T>
struct SgdStep {
    T lr, momentum, keep, weight_decay;  ///< keep = 1 - dampening
    bool nesterov;

    /// S: the type of the tensors, T or Bfloat16.
    template <class S, bool kDecay, bool kMomentum = false, bool kBuf = false, bool kNesterov = false>
    static void run(void* const* out, const void* const* in, int64_t n, const void* state) {
        const SgdStep step = *static_cast<const SgdStep*>(state);
        S* param_out = static_cast<S*>(out[0]);
        const S* param = static_cast<const S*>(in[0]);
        const S* grad = static_cast<const S*>(in[1]);
        S* buf_out = kBuf ? static_cast<S*>(out[1]) : nullptr;
        const S* buf = kBuf ? static_cast<const S*>(in[2]) : nullptr;
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) {
            const T old = widened(param[i]);
            T d = widened(grad[i]);
            if constexpr (kDecay) d = std::fma(step.weight_decay, old, d);
            if constexpr (kMomentum) {
                T velocity = d;
                if constexpr (kBuf) {
                    velocity = std::fma(step.momentum, widened(buf[i]), step.keep * d);
                    buf_out[i] = narrowed<S, SgdStep>(velocity);
                }
                d = kNesterov ? std::fma(step.momentum, velocity, d) : velocity;
            }
            param_out[i] = narrowed<S, SgdStep>(std::fma(-step.lr, d, old));
        }
    }

    template <class S, bool kDecay>
    [[nodiscard]] TileFunction function(bool has_buf) const {
        if (momentum == 0) return best<run<S, kDecay>>();
        if (nesterov)
            return has_buf ? best<run<S, kDecay, true, true, true>>() : best<run<S, kDecay, true, false, true>>();
        return has_buf ? best<run<S, kDecay, true, true>>() : best<run<S, kDecay, true>>();
    }
    template <class S>
    [[nodiscard]] TileFunction function(bool has_buf) const {
        return weight_decay != 0 ? function<S, true>(has_buf) : function<S, false>(has_buf);
    }

    [[nodiscard]] TileOp on_tiles(Dtype compute, bool has_buf) const {
        TileOp op{compute, function<T>(has_buf), this, Loop::arithmetic};
        if constexpr (std::is_same_v<T, float>) op.run_bfloat16 = function<Bfloat16>(has_buf);
        return op;
    }
};

diopiError_t sgd(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t param, diopiTensorHandle_t grad,
                 diopiTensorHandle_t buf, double lr, double momentum, double dampening, double weight_decay,
                 bool nesterov) {
    SgdTensors t;
    if (const auto error = read_sgd(op, param, grad, buf, momentum, t); error != diopiSuccess) return error;
    const std::array outs = {t.param, t.buf};
    const std::array ins = {t.param, t.grad, t.buf};
    const size_t drop = t.has_buf ? 0 : 1;
    const auto step = [&]<class T>(Dtype compute) {
        const SgdStep<T> s{T(lr), T(momentum), T(1.0 - dampening), T(weight_decay), nesterov};
        return for_each_tile(ctx, op, {outs.data(), outs.size() - drop}, {ins.data(), ins.size() - drop},
                             s.on_tiles(compute, t.has_buf));
    };
    return t.param.dtype == Dtype::float64 ? step.template operator()<double>(Dtype::float64)
                                           : step.template operator()<float>(Dtype::float32);
}

}  // namespace

#include "kernels/entries/optim.inc"

}  // namespace diopi::cpu
