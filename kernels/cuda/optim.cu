/// sgd.
#include "kernels/cuda/operators.hpp"
#include "kernels/cuda/optim.cuh"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/optim.hpp"

namespace diopi::cuda {

namespace {

/// A step on param, grad and, where `kHasBuf`, buf. Factors of 0 leave their term out, so that an infinity there does
/// not become NaN.
template <class C, bool kHasBuf>
struct Sgd {
    static constexpr int kTensors = kHasBuf ? 3 : 2;
    C lr, momentum, keep, weight_decay;  ///< keep = 1 - dampening
    bool nesterov;

    __device__ void operator()(C (&values)[kTensors]) const {
        C d = values[1];
        if (weight_decay != C(0)) d = fma(weight_decay, values[0], d);
        if (momentum != C(0)) {
            C velocity = d;
            if constexpr (kHasBuf) {
                velocity = fma(momentum, values[2], keep * d);
                values[2] = velocity;
            }
            d = nesterov ? fma(momentum, velocity, d) : velocity;
        }
        values[0] = fma(-lr, d, values[0]);
    }
};

diopiError_t sgd(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t param, diopiTensorHandle_t grad,
                 diopiTensorHandle_t buf, double lr, double momentum, double dampening, double weight_decay,
                 bool nesterov) {
    SgdTensors t;
    if (const auto error = read_sgd(op, param, grad, buf, momentum, t); error != diopiSuccess) return error;
    const auto step = [&]<class C>() {
        const C rate = C(lr), m = C(momentum), keep = C(1 - dampening), decay = C(weight_decay);
        if (t.has_buf) {
            return take_step<C>(ctx, op, Sgd<C, true>{rate, m, keep, decay, nesterov}, {t.param, t.grad, t.buf});
        }
        return take_step<C>(ctx, op, Sgd<C, false>{rate, m, keep, decay, nesterov}, {t.param, t.grad});
    };
    return t.param.dtype == Dtype::float64 ? step.template operator()<double>() : step.template operator()<float>();
}

}  // namespace

#include "kernels/entries/optim.inc"

}  // namespace diopi::cuda
