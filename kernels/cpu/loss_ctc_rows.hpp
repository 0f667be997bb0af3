/// The loops of ctc_loss over the states and the classes of a step in the best instruction set of this machine.
#pragma once

#include <cstdint>

namespace diopi::cpu {

struct CtcKernels {
    /// next = log(exp(last) + exp(near) + exp(far)) + own, without `far` where `skips` is 0. `next` is none of the
    /// others.
    void (*advance)(const double* last, const double* near, const double* far, const double* skips, const double* own,
                    int64_t n, double* next);
    /// y = exp(x - base)
    void (*powers)(const double* x, double base, int64_t n, double* y);
};

[[nodiscard]] const CtcKernels& ctc_kernels();

}  // namespace diopi::cpu
