/// Connectionist temporal classification: the probability of a sequence of labels under all its alignments with the
/// steps of log_probs (T, N, C). Source: A. Graves et al., Connectionist Temporal Classification, ICML 2006.
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/sum.hpp"

namespace diopi::reference {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The samples: their labels with a blank before, between and behind them, which are the states of an alignment.
class Samples {
 public:
    Samples(ShapeView log_probs, diopiConstTensorHandle_t targets, diopiConstTensorHandle_t input_lengths,
            diopiConstTensorHandle_t target_lengths, int64_t blank)
        : targets_(targets, "targets"),
          steps_(input_lengths, "input_lengths"),
          labels_(target_lengths, "target_lengths"),
          blank_(blank) {
        if (log_probs.size() != 3) refuse("log_probs has shape " + to_string(log_probs) + ", wanted (T, N, C)");
        count = log_probs[1];
        classes = log_probs[2];
        const int64_t wanted[] = {count};
        require_shape("input_lengths", steps_.shape(), wanted);
        require_shape("target_lengths", labels_.shape(), wanted);
        const bool is_padded = targets_.rank() == 2;
        if (targets_.rank() != 1 && !(is_padded && targets_.size(0) == count)) {
            refuse("targets has shape " + to_string(targets_.shape()) + ", wanted (N, S) or (S)");
        }
        if (blank < 0 || blank >= classes) refuse("blank is " + std::to_string(blank) + ", wanted a class");
        int64_t next = 0;
        for (int64_t n = 0; n < count; ++n) {
            first_.push_back(is_padded ? n * targets_.size(1) : next);
            next += labels_[n];
            const int64_t room = is_padded ? targets_.size(1) : targets_.numel() - first_.back();
            if (steps_[n] < 0 || steps_[n] > log_probs[0]) refuse("input_lengths holds a number that is not in 0 to T");
            if (labels_[n] < 0 || labels_[n] > room) refuse("target_lengths holds a number beyond targets");
            for (int64_t i = 0; i < labels_[n]; ++i) {
                const int64_t label = targets_[first_.back() + i];
                if (label < 0 || label >= classes) refuse("targets holds " + std::to_string(label) + ", no class");
            }
        }
    }

    [[nodiscard]] int64_t steps(int64_t n) const { return steps_[n]; }
    [[nodiscard]] int64_t labels(int64_t n) const { return labels_[n]; }
    [[nodiscard]] int64_t states(int64_t n) const { return 2 * labels_[n] + 1; }
    [[nodiscard]] int64_t state(int64_t n, int64_t s) const {
        return s % 2 == 0 ? blank_ : targets_[first_[static_cast<size_t>(n)] + s / 2];
    }
    /// Whether an alignment may go from state s - 2 to s: not over a blank between equal labels.
    [[nodiscard]] bool skips(int64_t n, int64_t s) const { return s >= 2 && state(n, s) != state(n, s - 2); }

    int64_t count = 0, classes = 0;

 private:
    Operand<int64_t> targets_, steps_, labels_;
    int64_t blank_;
    std::vector<int64_t> first_;
};

/// The logarithm of the sum of the powers; of none it is -infinity.
template <class T>
T log_of_sum(std::initializer_list<T> logarithms) {
    using std::exp;
    T most = -kInfinity;
    for (const T& each : logarithms) most = each > most ? each : most;
    if (most == T(-kInfinity)) return most;
    T sum = 0.0;
    for (const T& each : logarithms) {
        if (!(each == T(-kInfinity))) sum += exp(each - most);
    }
    return most + log_of_powers(sum);
}

/// Logarithms of the probabilities of all beginnings that end in a state at a step: states of one step after another.
/// With `reversed` those of all ends that begin in it; the numbers of steps and states count from the back then.
template <class T>
std::vector<T> variables(const Samples& samples, const Operand<T>& x, int64_t n, bool reversed) {
    const int64_t steps = samples.steps(n), states = samples.states(n);
    std::vector<T> v(static_cast<size_t>(steps * states), T(-kInfinity));
    const auto at = [&](int64_t t, int64_t s) -> T& { return v[static_cast<size_t>(t * states + s)]; };
    for (int64_t t = 0; t < steps; ++t) {
        for (int64_t s = 0; s < states; ++s) {
            const int64_t state = reversed ? states - 1 - s : s;
            const bool skips = s >= 2 && samples.skips(n, reversed ? state + 2 : state);
            T before = s < 2 ? T(0) : T(-kInfinity);
            if (t > 0) {
                const T none = -kInfinity;
                before =
                    log_of_sum<T>({at(t - 1, s), s >= 1 ? at(t - 1, s - 1) : none, skips ? at(t - 1, s - 2) : none});
            }
            const int64_t step = reversed ? steps - 1 - t : t;
            if (before == T(-kInfinity)) continue;
            at(t, s) = before + x[(step * samples.count + n) * samples.classes + samples.state(n, state)];
        }
    }
    return v;
}

/// -log of the probability of the labels.
template <class T>
T loss_of(const Samples& samples, const std::vector<T>& alpha, int64_t n) {
    const int64_t states = samples.states(n);
    if (samples.steps(n) == 0) return states == 1 ? T(0) : T(kInfinity);
    const T none = -kInfinity;
    return -log_of_sum<T>({alpha.back(), states > 1 ? alpha[alpha.size() - 2] : none});
}

void require_reduction_of_losses(diopiReduction_t reduction) {
    if (reduction == ReductionNone || reduction == ReductionMean || reduction == ReductionSum) return;
    refuse("reduction is " + std::to_string(reduction) + ", wanted none, mean or sum");
}

/// The number by which the loss of a sample is divided.
double divisor(const Samples& samples, diopiReduction_t reduction, int64_t n) {
    if (reduction != ReductionMean) return 1;
    return static_cast<double>(std::max<int64_t>(samples.labels(n), 1)) * static_cast<double>(samples.count);
}

/// S is the largest number of labels.
void require_variables(const Samples& samples, ShapeView shape, int64_t steps) {
    int64_t most = 1;
    for (int64_t n = 0; n < samples.count; ++n) most = std::max(most, samples.states(n));
    const bool fits = shape.size() == 3 && shape[0] == samples.count && shape[1] == steps && shape[2] == most;
    if (!fits) refuse("log_alpha has shape " + to_string(shape) + ", wanted (N, T, 2 S + 1)");
}

/// out = the losses, or their sum; the mean divides each by its number of labels first. zero_infinity: infinite losses
/// count as 0. neg_log_likelihood = the losses, log_alpha = the variables, -infinity where there are none.
diopiError_t ctc_loss(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                      diopiTensorHandle_t neg_log_likelihood, diopiTensorHandle_t log_alpha,
                      diopiConstTensorHandle_t log_probs, diopiConstTensorHandle_t targets,
                      diopiConstTensorHandle_t input_lengths, diopiConstTensorHandle_t target_lengths, int64_t blank,
                      diopiReduction_t reduction, bool zero_infinity) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> x(log_probs, "log_probs");
        require_reduction_of_losses(reduction);
        const Samples samples(x.shape(), targets, input_lengths, target_lengths, blank);
        Output<T> y(out, "out"), losses(neg_log_likelihood, "neg_log_likelihood"), saved(log_alpha, "log_alpha");
        const int64_t per_sample[] = {samples.count};
        const bool none = reduction == ReductionNone;
        require_shape("out", y.shape(), none ? ShapeView(per_sample) : ShapeView());
        require_shape("neg_log_likelihood", losses.shape(), per_sample);
        require_variables(samples, saved.shape(), x.size(0));
        for (int64_t i = 0; i < saved.numel(); ++i) saved[i] = -kInfinity;
        Sum<T> sum;
        for (int64_t n = 0; n < samples.count; ++n) {
            const auto alpha = variables(samples, x, n, false);
            const int64_t states = samples.states(n);
            for (int64_t i = 0; i < static_cast<int64_t>(alpha.size()); ++i) {
                const int64_t row = n * saved.size(1) + i / states;
                saved[row * saved.size(2) + i % states] = alpha[static_cast<size_t>(i)];
            }
            losses[n] = loss_of(samples, alpha, n);
            const T loss = zero_infinity && losses[n] == T(kInfinity) ? T(0) : losses[n];
            if (none)
                y[n] = loss;
            else
                sum += loss / T(divisor(samples, reduction, n));
        }
        if (!none) y[0] = sum.value();
        y.store();
        losses.store();
        saved.store();
    });
}

/// grad_input = g (exp(x) - p), p the probability of a class at a step among the alignments: the sum of the products of
/// both variables over the states of that class, divided by exp(x) and by the probability of the labels; 0 behind the
/// steps of a sample and, with zero_infinity, where the loss is infinite.
diopiError_t ctc_loss_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                               diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t log_probs,
                               diopiConstTensorHandle_t targets, diopiConstTensorHandle_t input_lengths,
                               diopiConstTensorHandle_t target_lengths, diopiConstTensorHandle_t neg_log_likelihood,
                               diopiConstTensorHandle_t log_alpha, int64_t blank, diopiReduction_t reduction,
                               bool zero_infinity) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        using std::exp;
        const Operand<T> x(log_probs, "log_probs"), g(grad_output, "grad_output"), alpha(log_alpha, "log_alpha");
        const Operand<T> losses(neg_log_likelihood, "neg_log_likelihood");
        require_reduction_of_losses(reduction);
        const Samples samples(x.shape(), targets, input_lengths, target_lengths, blank);
        Output<T> gx(grad_input, "grad_input", Output<T>::Start::kZero);
        require_shape("grad_input", gx.shape(), x.shape());
        const int64_t per_sample[] = {samples.count};
        const bool none = reduction == ReductionNone;
        require_shape("grad_output", g.shape(), none ? ShapeView(per_sample) : ShapeView());
        require_shape("neg_log_likelihood", losses.shape(), per_sample);
        require_variables(samples, alpha.shape(), x.size(0));
        for (int64_t n = 0; n < samples.count; ++n) {
            const int64_t steps = samples.steps(n), states = samples.states(n);
            const T loss = losses[n];
            if (zero_infinity && loss == T(kInfinity)) continue;
            const auto beta = variables(samples, x, n, true);
            const T scale = T(g[none ? n : 0]) / T(divisor(samples, reduction, n));
            for (int64_t t = 0; t < steps; ++t) {
                std::vector<T> sums(static_cast<size_t>(samples.classes), T(-kInfinity));
                for (int64_t s = 0; s < states; ++s) {
                    const T before = alpha[(n * alpha.size(1) + t) * alpha.size(2) + s];
                    const T behind = beta[static_cast<size_t>((steps - 1 - t) * states + states - 1 - s)];
                    if (before == T(-kInfinity) || behind == T(-kInfinity)) continue;
                    T& sum = sums[static_cast<size_t>(samples.state(n, s))];
                    sum = log_of_sum<T>({sum, before + behind});
                }
                for (int64_t c = 0; c < samples.classes; ++c) {
                    const int64_t at = (t * samples.count + n) * samples.classes + c;
                    const T lp = x[at], sum = sums[static_cast<size_t>(c)];
                    const bool is_absent = sum == T(-kInfinity) && !(loss == T(kInfinity));
                    gx[at] = (exp(lp) - (is_absent ? T(0) : exp(sum + loss - lp))) * scale;
                }
            }
        }
        gx.store();
    });
}

}  // namespace

#include "kernels/entries/loss_ctc.inc"

}  // namespace diopi::reference
