/// The loops of ctc_loss on Highway's vectors.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/loss_ctc_rows.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/loss_ctc_rows.hpp"
#include "kernels/cpu/vector_math-inl.hpp"
#include "kernels/cpu/vector_memory-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace {

/// The largest summand is taken out of the sum, whose powers are 1 or less then.
HWY_INLINE Double log_sum(Double a, Double b, Double c) {
    const Double never = all<Double>(-HUGE_VAL);
    const auto is_never = hn::And(hn::Eq(a, never), hn::And(hn::Eq(b, never), hn::Eq(c, never)));
    const Double most = choose(is_never, all<Double>(0), hn::Max(a, hn::Max(b, c)));
    const Double sum = exp_below(a - most) + exp_below(b - most) + exp_below(c - most);
    return choose(is_never, never, most + log(sum));
}

struct Advance {
    const double *last, *near, *far, *skips, *own;
    double* next;
    HWY_INLINE void operator()(int64_t i, int64_t n) const {
        const auto may_skip = hn::Ne(load_up_to(skips + i, n), all<Double>(0));
        const Double skipping = choose(may_skip, load_up_to(far + i, n), all<Double>(-HUGE_VAL));
        const Double sum = log_sum(load_up_to(last + i, n), load_up_to(near + i, n), skipping);
        store_up_to(sum + load_up_to(own + i, n), next + i, n);
    }
};

struct Powers {
    const double* x;
    Double base;
    double* y;
    HWY_INLINE void operator()(int64_t i, int64_t n) const { store_up_to(exp(load_up_to(x + i, n) - base), y + i, n); }
};

void advance(const double* last, const double* near, const double* far, const double* skips, const double* own,
             int64_t n, double* next) {
    for_each_vector<double>(n, Advance{last, near, far, skips, own, next});
}

void powers(const double* x, double base, int64_t n, double* y) { for_each_vector<double>(n, Powers{x, set(base), y}); }

CtcKernels Kernels() { return {advance, powers}; }

}  // namespace

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diopi::cpu {

DIOPI_BEST(CtcKernels, ctc_kernels)

}  // namespace diopi::cpu
#endif
