/// sgd.
#include "kernels/cuda/operators.hpp"
#include "kernels/cuda/optim.cuh"
#include "kernels/operands/optim.hpp"

namespace diopi::cuda {

namespace {

/// Of param, grad and, where `kHasBuf`, buf. Factors of 0 leave their term out, so that an infinity there does not
/// become NaN.
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

}  // namespace

diopiError_t diopiSgd(diopiContextHandle_t ctx, diopiTensorHandle_t param, diopiTensorHandle_t grad,
                      diopiTensorHandle_t buf, double lr, double momentum, double dampening, double weight_decay,
                      bool nesterov) {
    const std::string_view op = __func__;
    const bool is_given = buf != nullptr;
    const View p = view(param), g = view(grad), b = is_given ? view(buf) : View{};
    const Argument arguments[] = {{p, "param"}, {g, "grad"}, {b, "buf"}};
    if (const auto error = check_step(op, {arguments, is_given ? 3u : 2u}); error != diopiSuccess) return error;
    const auto step = [&]<class C>() {
        const C rate = C(lr), m = C(momentum), keep = C(1 - dampening), decay = C(weight_decay);
        if (is_given && momentum != 0) {
            return take_step<C>(ctx, op, Sgd<C, true>{rate, m, keep, decay, nesterov}, {p, g, b});
        }
        return take_step<C>(ctx, op, Sgd<C, false>{rate, m, keep, decay, nesterov}, {p, g});
    };
    return p.dtype == Dtype::float64 ? step.template operator()<double>() : step.template operator()<float>();
}

}  // namespace diopi::cuda
