/// Losses of each element: of its input x, its target t, and weights that broadcast to them, which are 1 where there
/// are none.
#include <cmath>
#include <vector>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/power.hpp"
#include "kernels/reference/sum.hpp"

namespace diopi::reference {

namespace {

/// The input tensors of a loss; null: no such weight.
struct LossTensors {
    diopiConstTensorHandle_t input, target, weight = nullptr, pos_weight = nullptr;
};

/// A weight broadcast to `shape`.
template <class T>
class WideWeight {
 public:
    WideWeight(diopiConstTensorHandle_t weight, std::string_view argument, ShapeView shape) {
        const Operand<T> narrow(weight, argument);
        if (!narrow) return;
        const Shape dense = contiguous_strides(shape), strides = broadcast_strides(argument, narrow.shape(), shape);
        wide_.resize(static_cast<size_t>(numel(shape)));
        const Rows<2> rows(shape, {ShapeView(dense), ShapeView(strides)});
        rows.for_each([&](const Rows<2>::Offsets& at) {
            for (int64_t i = 0; i < rows.length(); ++i) {
                wide_[static_cast<size_t>(at[0] + i * rows.step()[0])] = narrow[at[1] + i * rows.step()[1]];
            }
        });
    }
    T operator[](int64_t i) const { return wide_.empty() ? T(1) : wide_[static_cast<size_t>(i)]; }

 private:
    std::vector<T> wide_;
};

/// The elements of those tensors.
template <class T>
struct LossOperands {
    Operand<T> x, t;
    WideWeight<T> weight, pos_weight;

    LossOperands(const LossTensors& tensors, diopiReduction_t reduction)
        : x(tensors.input, "input"),
          t(tensors.target, "target"),
          weight(tensors.weight, "weight?", x.shape()),
          pos_weight(tensors.pos_weight, "pos_weight?", x.shape()) {
        require_shape("target", t.shape(), x.shape());
        if (reduction == ReductionNone || reduction == ReductionMean || reduction == ReductionSum) return;
        refuse("reduction is " + std::to_string(reduction) + ", wanted none, mean or sum");
    }
    template <class F>
    T apply(const F& f, int64_t i) const {
        return f(T(x[i]), T(t[i]), weight[i], pos_weight[i]);
    }
};

/// out = f(x, t, weight, pos_weight) of each element, or their sum, or sum / n: the mean of nothing is NaN.
template <class F>
diopiError_t lose(diopiContextHandle_t ctx, diopiTensorHandle_t out, const LossTensors& tensors,
                  diopiReduction_t reduction, const F& f) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const LossOperands<T> in(tensors, reduction);
        WriteOnly<T> y(out, "out");
        require_shape("out", y.shape(), reduction == ReductionNone ? in.x.shape() : ShapeView());
        const int64_t n = in.x.numel();
        if (reduction == ReductionNone) {
            for (int64_t i = 0; i < n; ++i) y[i] = in.apply(f, i);
        } else {
            const T sum = pairwise_sum<T>(n, [&](int64_t i) { return in.apply(f, i); });
            y[0] = reduction == ReductionMean ? sum / T(static_cast<double>(n)) : sum;
        }
        y.store();
    });
}

/// grad_input = grad_output f(x, t, weight, pos_weight), divided by n under mean.
template <class F>
diopiError_t lose_backward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                           diopiConstTensorHandle_t grad_output, const LossTensors& tensors, diopiReduction_t reduction,
                           const F& f) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const LossOperands<T> in(tensors, reduction);
        const Operand<T> g(grad_output, "grad_output");
        WriteOnly<T> gx(grad_input, "grad_input");
        const bool each = reduction == ReductionNone;
        require_shape("grad_output", g.shape(), each ? in.x.shape() : ShapeView());
        require_shape("grad_input", gx.shape(), in.x.shape());
        const int64_t n = in.x.numel();
        for (int64_t i = 0; i < n; ++i) {
            const T slope = T(g[each ? i : 0]) * in.apply(f, i);
            gx[i] = reduction == ReductionMean ? slope / T(static_cast<double>(n)) : slope;
        }
        gx.store();
    });
}

// ---- squares and distances ----

/// (x - t)^2
diopiError_t mse_loss(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input, diopiConstTensorHandle_t target, diopiReduction_t reduction) {
    return lose(ctx, out, {input, target}, reduction, []<class T>(T x, T t, T, T) { return (x - t) * (x - t); });
}
diopiError_t mse_loss_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                               diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                               diopiConstTensorHandle_t target, diopiReduction_t reduction) {
    return lose_backward(ctx, grad_input, grad_output, {input, target}, reduction,
                         []<class T>(T x, T t, T, T) { return T(2) * (x - t); });
}

/// d^2 / (2 beta) where the distance d is below beta, else d - beta / 2.
diopiError_t smooth_l1_loss(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input, diopiConstTensorHandle_t target, diopiReduction_t reduction,
                            double beta) {
    if (beta < 0) return kernel([] { refuse("beta is below 0, wanted none below it"); });
    return lose(ctx, out, {input, target}, reduction, [=]<class T>(T x, T t, T, T) {
        const T d = x <= t ? t - x : x - t;
        return T(beta) > d ? T(0.5) * d * d / T(beta) : d - T(0.5 * beta);
    });
}
/// The slope of the distance, -1 or 1, from beta on; beta 0 gives -1 where x is t, as PyTorch does.
diopiError_t smooth_l1_loss_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                                     diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                     diopiConstTensorHandle_t target, diopiReduction_t reduction, double beta) {
    return lose_backward(ctx, grad_input, grad_output, {input, target}, reduction, [=]<class T>(T x, T t, T, T) {
        const T d = x - t;
        if (d <= T(-beta)) return T(-1);
        return T(beta) <= d ? T(1) : d / T(beta);
    });
}

// ---- binary cross entropy ----

double log_of_rest(double x) { return std::log1p(-x); }
Inexact log_of_rest(const Inexact& x) { return log(Inexact(1) - x); }

/// The logarithm, which is cut off at -100.
template <class T>
T cut(T logarithm) {
    return T(-100) > logarithm ? T(-100) : logarithm;
}

/// -w (t log(x) + (1 - t) log(1 - x)), x being a probability.
diopiError_t bce_loss(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input, diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                      diopiReduction_t reduction) {
    return lose(ctx, out, {input, target, weight}, reduction, []<class T>(T x, T t, T w, T) {
        using std::log;
        return w * ((t - T(1)) * cut<T>(log_of_rest(x)) - t * cut<T>(log(x)));
    });
}
diopiError_t bce_loss_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                               diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                               diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                               diopiReduction_t reduction) {
    return lose_backward(ctx, grad_input, grad_output, {input, target, weight}, reduction,
                         []<class T>(T x, T t, T w, T) {
                             const T spread = (T(1) - x) * x;
                             return w * ((x - t) / (T(1e-12) > spread ? T(1e-12) : spread));
                         });
}

double log1p(double x) { return std::log1p(x); }
Inexact log1p(const Inexact& x) {
    return Inexact::rounded(std::log1p(x.value), x.error / std::max(1 + x.value - x.error, 0.0), 6);
}

/// exp(-|x|), from which the logistic function and its logarithm follow without overflow.
template <class T>
T decay(T x) {
    using std::exp;
    return x <= T(0) ? exp(x) : exp(-x);
}
template <class T>
T logistic(T x) {
    const T small = decay(x);
    return (x <= T(0) ? small : T(1)) / (T(1) + small);
}
template <class T>
T log_logistic(T x) {
    return (x <= T(0) ? x : T(0)) - log1p(decay(x));
}

/// w ((1 - t) x - (1 + (p - 1) t) log(s)), s being the logistic function of x, p the weight of the positive class.
diopiError_t bce_with_logits(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                             diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
                             diopiConstTensorHandle_t weight, diopiConstTensorHandle_t pos_weight,
                             diopiReduction_t reduction) {
    return lose(ctx, out, {input, target, weight, pos_weight}, reduction, []<class T>(T x, T t, T w, T p) {
        return w * ((T(1) - t) * x - (T(1) + (p - T(1)) * t) * log_logistic(x));
    });
}
diopiError_t bce_with_logits_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                                      diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                      diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                                      diopiConstTensorHandle_t pos_weight, diopiReduction_t reduction) {
    return lose_backward(ctx, grad_input, grad_output, {input, target, weight, pos_weight}, reduction,
                         []<class T>(T x, T t, T w, T p) { return w * ((p * t + T(1) - t) * logistic(x) - p * t); });
}

// ---- focal loss ----

/// The share of a class: alpha for t = 1, 1 - alpha for t = 0; alpha below 0: 1.
template <class T>
T share(T t, double alpha) {
    return alpha >= 0 ? T(alpha) * t + T(1 - alpha) * (T(1) - t) : T(1);
}

/// share (1 - q)^gamma ce, with ce the cross entropy of the logits, s the logistic function of x, and 1 - q the
/// probability s (1 - t) + (1 - s) t of the other class.
diopiError_t sigmoid_focal_loss(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                                diopiConstTensorHandle_t inputs, diopiConstTensorHandle_t targets, float alpha,
                                float gamma, diopiReduction_t reduction) {
    return lose(ctx, out, {inputs, targets}, reduction, [=]<class T>(T x, T t, T, T) {
        const T other = logistic(x) * (T(1) - t) + logistic(-x) * t;
        const T entropy = (T(1) - t) * x - log_logistic(x);
        return share(t, alpha) * (entropy * power(other, gamma));
    });
}
/// share ((1 - q)^gamma ce' + gamma (1 - q)^(gamma - 1) (1 - q)' ce), ce' = s - t, (1 - q)' = s (1 - s) (1 - 2 t).
diopiError_t sigmoid_focal_loss_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_output,
                                         diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
                                         diopiTensorHandle_t grad_input, float gamma, float alpha,
                                         diopiReduction_t reduction) {
    return lose_backward(ctx, grad_input, grad_output, {input, target}, reduction, [=]<class T>(T x, T t, T, T) {
        const T s = logistic(x), rest = logistic(-x), other = s * (T(1) - t) + rest * t;
        T slope = (s * (T(1) - t) - rest * t) * power(other, gamma);
        if (gamma != 0) {
            const T entropy = (T(1) - t) * x - log_logistic(x);
            slope += T(gamma) * power(other, double(gamma) - 1) * (s * rest * (T(1) - T(2) * t)) * entropy;
        }
        return share(t, alpha) * slope;
    });
}

}  // namespace

#include "kernels/entries/loss_elements.inc"

}  // namespace diopi::reference
