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

    template <bool kDecay, bool kMomentum, bool kBuf>
    static void run(void* const* out, const void* const* in, int64_t n, const void* state) {
        const SgdStep step = *static_cast<const SgdStep*>(state);
        T* param_out = static_cast<T*>(out[0]);
        const T* param = static_cast<const T*>(in[0]);
        const T* grad = static_cast<const T*>(in[1]);
        T* buf_out = kBuf ? static_cast<T*>(out[1]) : nullptr;
        const T* buf = kBuf ? static_cast<const T*>(in[2]) : nullptr;
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) {
            T d = grad[i];
            if constexpr (kDecay) d = std::fma(step.weight_decay, param[i], d);
            if constexpr (kMomentum) {
                T velocity = d;
                if constexpr (kBuf) {
                    velocity = std::fma(step.momentum, buf[i], step.keep * d);
                    buf_out[i] = velocity;
                }
                d = step.nesterov ? std::fma(step.momentum, velocity, d) : velocity;
            }
            param_out[i] = std::fma(-step.lr, d, param[i]);
        }
    }

    [[nodiscard]] TileFunction function(bool has_buf) const {
        const bool decays = weight_decay != 0;
        if (momentum == 0) return decays ? best<run<true, false, false>>() : best<run<false, false, false>>();
        if (has_buf) return decays ? best<run<true, true, true>>() : best<run<false, true, true>>();
        return decays ? best<run<true, true, false>>() : best<run<false, true, false>>();
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
        SgdStep<T> s{T(lr), T(momentum), T(1.0 - dampening), T(weight_decay), nesterov};
        return for_each_tile(ctx, op, {outs.data(), outs.size() - drop}, {ins.data(), ins.size() - drop},
                             {compute, s.function(t.has_buf), &s, Loop::arithmetic});
    };
    return t.param.dtype == Dtype::float64 ? step.template operator()<double>(Dtype::float64)
                                           : step.template operator()<float>(Dtype::float32);
}

}  // namespace

#include "kernels/entries/optim.inc"

}  // namespace diopi::cpu
