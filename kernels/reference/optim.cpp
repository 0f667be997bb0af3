/// Optimiser steps.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// d = grad + weight_decay * param; with momentum: buf = momentum * buf + (1 - dampening) * d, on the first step (buf
/// null) buf = d; d = nesterov ? d + momentum * buf : buf. param -= lr * d. A factor of 0 leaves its term out, so that
/// an infinite value there does not turn into NaN. grad is only read.
diopiError_t sgd(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t param, diopiTensorHandle_t grad,
                 diopiTensorHandle_t buf, double lr, double momentum, double dampening, double weight_decay,
                 bool nesterov) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        using Inout = Output<T>;
        Inout p(param, "param", Inout::Start::kOldValues);
        const Operand<T> g(grad, "grad");
        Inout b(buf, "buf?", Inout::Start::kOldValues);
        require_shape("grad", g.shape(), p.shape());
        if (b) require_shape("buf", b.shape(), p.shape());
        for (int64_t i = 0; i < p.numel(); ++i) {
            T d = g[i];
            if (weight_decay != 0.0) d += weight_decay * p[i];
            if (momentum != 0.0) {
                const T velocity = b ? momentum * b[i] + (1.0 - dampening) * d : d;
                if (b) b[i] = velocity;
                d = nesterov ? d + momentum * velocity : velocity;
            }
            p[i] -= lr * d;
        }
        p.store();
        b.store();
    });
}

}  // namespace

#include "kernels/entries/optim.inc"

}  // namespace diopi::reference
