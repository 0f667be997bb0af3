/// ctc_loss: samples in threads, the variables of two steps of a sample in double.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cpu/loss_ctc_rows.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/loss.hpp"

namespace diopi::cpu {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// A sample: its steps and labels, and the classes of its states: labels with blanks around them.
struct Sample {
    int64_t steps = 0;
    std::vector<int64_t> states{};
    [[nodiscard]] int64_t labels() const { return static_cast<int64_t>(states.size()) / 2; }
};

/// log(exp(a) + exp(b))
double log_sum(double a, double b) {
    const double most = std::max(a, b);
    return most == kNever ? most : most + std::log(std::exp(a - most) + std::exp(b - most));
}

/// The arguments that both functions read; x is dense.
struct Ctc {
    std::string_view op;
    diopiReduction_t reduction;
    View log_probs;
    std::vector<Sample> samples{};
    const double* x = nullptr;

    [[nodiscard]] int64_t count() const { return log_probs.shape[1]; }
    [[nodiscard]] int64_t classes() const { return log_probs.shape[2]; }
    [[nodiscard]] const double* row(int64_t step, int64_t n) const { return x + (step * count() + n) * classes(); }
    [[nodiscard]] double share(int64_t n) const {
        if (reduction != ReductionMean) return 1;
        const auto labels = static_cast<double>(samples[static_cast<size_t>(n)].labels());
        return 1 / (std::max(labels, 1.0) * static_cast<double>(count()));
    }
    /// About as many operations as a sample takes.
    [[nodiscard]] int64_t work() const { return log_probs.shape[0] * classes(); }
};

diopiError_t check_sample(const Ctc& ctc, const Sample& sample, int64_t labels, int64_t room) {
    if (sample.steps < 0 || sample.steps > ctc.log_probs.shape[0]) {
        return refuse(ctc.op, "input_lengths holds " + std::to_string(sample.steps) + ", wanted 0 to " +
                                  std::to_string(ctc.log_probs.shape[0]));
    }
    if (labels >= 0 && labels <= room) return diopiSuccess;
    return refuse(ctc.op, "target_lengths holds " + std::to_string(labels) + ", wanted 0 to " + std::to_string(room));
}

diopiError_t read_samples(Ctc& ctc, const View& targets, const int64_t* labels, const int64_t* steps,
                          const int64_t* lengths, int64_t blank) {
    const bool is_padded = targets.rank() == 2;
    int64_t next = 0;
    for (int64_t n = 0; n < ctc.count(); ++n) {
        const int64_t first = is_padded ? n * targets.shape[1] : next;
        Sample sample{steps[n]};
        const int64_t room = is_padded ? targets.shape[1] : targets.numel - first;
        if (const diopiError_t error = check_sample(ctc, sample, lengths[n], room); error != diopiSuccess) return error;
        sample.states.assign(static_cast<size_t>(2 * lengths[n] + 1), blank);
        for (int64_t i = 0; i < lengths[n]; ++i) {
            const int64_t label = labels[first + i];
            if (label < 0 || label >= ctc.classes()) {
                return refuse(ctc.op, "targets holds " + std::to_string(label) + ", wanted a class below " +
                                          std::to_string(ctc.classes()));
            }
            sample.states[static_cast<size_t>(2 * i + 1)] = label;
        }
        next += lengths[n];
        ctc.samples.push_back(std::move(sample));
    }
    return diopiSuccess;
}

diopiError_t read_ctc(Staging& staging, Ctc& ctc, diopiConstTensorHandle_t targets, diopiConstTensorHandle_t steps,
                      diopiConstTensorHandle_t lengths, int64_t blank) {
    const View& x = ctc.log_probs;
    const View labels = view(targets);
    if (const diopiError_t error = check_computable(ctc.op, "log_probs", x); error != diopiSuccess) return error;
    if (x.rank() != 3) return wrong_shape(ctc.op, "log_probs", x.shape, "(T, N, C)");
    const bool is_padded = labels.rank() == 2 && labels.shape[0] == ctc.count();
    if (labels.rank() != 1 && !is_padded) return wrong_shape(ctc.op, "targets", labels.shape, "(N, S) or (S)");
    for (const auto& [tensor, name] : {std::pair{steps, "input_lengths"}, std::pair{lengths, "target_lengths"}}) {
        const View v = view(tensor);
        if (const diopiError_t error = check_shape(ctc.op, name, v, x.shape.subspan(1, 1)); error != diopiSuccess) {
            return error;
        }
        if (!is_integer(v.dtype)) return unsupported(ctc.op, name, v.dtype, "an integer dtype");
    }
    if (!is_integer(labels.dtype)) return unsupported(ctc.op, "targets", labels.dtype, "an integer dtype");
    if (blank < 0 || blank >= ctc.classes()) {
        return refuse(ctc.op,
                      "blank is " + std::to_string(blank) + ", wanted a class below " + std::to_string(ctc.classes()));
    }
    if (ctc.reduction < ReductionNone || ctc.reduction > ReductionSum) {
        return refuse(ctc.op, "reduction is " + std::to_string(ctc.reduction) + ", wanted none, mean or sum");
    }
    ctc.x = staging.in<double>(x);
    const auto *own = staging.in<int64_t>(labels), *of_steps = staging.in<int64_t>(steps);
    const auto* of_labels = staging.in<int64_t>(lengths);
    if (staging.error() != diopiSuccess) return staging.error();
    return read_samples(ctc, labels, own, of_steps, of_labels, blank);
}

/// The variables of a sample's states, one step after the other: towards later steps and states with sign 1, towards
/// earlier ones with -1.
class Variables {
 public:
    Variables(const Sample& sample, int64_t sign)
        : states_(sample.states),
          sign_(sign),
          last_(states_.size() + 2 * kPad, kNever),
          next_(last_),
          skips_(states_.size()),
          own_(states_.size()) {
        for (int64_t s = 0; s < count(); ++s) {
            const int64_t far = s - 2 * sign;
            const bool skips = far >= 0 && far < count() && state(far) != state(s);
            skips_[static_cast<size_t>(s)] = skips ? 1 : 0;
        }
    }
    [[nodiscard]] int64_t count() const { return std::ssize(states_); }
    /// Those of the first step, whose logarithms of probabilities are `row`.
    const double* begin(const double* row) {
        for (int64_t i = 0; i < std::min<int64_t>(count(), 2); ++i) {
            const int64_t s = sign_ > 0 ? i : count() - 1 - i;
            next_[kPad + static_cast<size_t>(s)] = row[state(s)];
        }
        return next_.data() + kPad;
    }
    /// Those of the next step.
    const double* advance(const double* row) {
        std::swap(last_, next_);
        for (int64_t s = 0; s < count(); ++s) own_[static_cast<size_t>(s)] = row[state(s)];
        const double* last = last_.data() + kPad;
        ctc_kernels().advance(last, last - sign_, last - 2 * sign_, skips_.data(), own_.data(), count(),
                              next_.data() + kPad);
        return next_.data() + kPad;
    }

 private:
    static constexpr size_t kPad = 2;  ///< states at each end that never are

    [[nodiscard]] int64_t state(int64_t s) const { return states_[static_cast<size_t>(s)]; }

    const std::vector<int64_t>& states_;
    int64_t sign_;
    std::vector<double> last_, next_;
    std::vector<double> skips_;  ///< 1 where a state may follow the one before the last one
    std::vector<double> own_;    ///< the logarithms of the states' probabilities
};

/// Fills the sample's rows of log_alpha, `width` numbers each. Returns its loss.
double run_forward(const Ctc& ctc, int64_t n, double* alpha, int64_t width) {
    const Sample& sample = ctc.samples[static_cast<size_t>(n)];
    const size_t states = sample.states.size();
    std::fill_n(alpha, width * ctc.log_probs.shape[0], kNever);
    if (sample.steps == 0) return states == 1 ? 0 : -kNever;
    Variables variables(sample, 1);
    std::copy_n(variables.begin(ctc.row(0, n)), states, alpha);
    for (int64_t t = 1; t < sample.steps; ++t) {
        alpha += width;
        std::copy_n(variables.advance(ctc.row(t, n)), states, alpha);
    }
    return -log_sum(alpha[states - 1], states > 1 ? alpha[states - 2] : kNever);
}

/// The probabilities of a sample's classes in one step.
class ClassTotals {
 public:
    ClassTotals(const Sample& sample, int64_t classes)
        : states_(sample.states), powers_(states_.size()), totals_(static_cast<size_t>(classes)) {}

    /// Subtracts from each class what both variables of its states say, exp(alpha + beta + loss - row).
    void subtract(const double* alpha, const double* beta, const double* row, double loss, double* to) {
        double most = kNever;
        for (size_t s = 0; s < states_.size(); ++s) {
            powers_[s] = alpha[s] + beta[s];
            most = std::max(most, powers_[s]);
        }
        if (most == kNever) return;
        ctc_kernels().powers(powers_.data(), most, std::ssize(powers_), powers_.data());
        for (size_t s = 0; s < states_.size(); ++s) totals_[static_cast<size_t>(states_[s])] += powers_[s];
        for (const int64_t c : states_) {
            double& total = totals_[static_cast<size_t>(c)];
            if (total == 0) continue;
            to[c] -= total * std::exp(most + loss - row[c]);
            total = 0;
        }
    }

 private:
    const std::vector<int64_t>& states_;
    std::vector<double> powers_, totals_;  ///< totals_ is 0 between two steps
};

/// Fills the sample's part of the gradient, which is 0 before.
void run_backward(const Ctc& ctc, int64_t n, const double* alpha, int64_t width, double loss, double scale,
                  double* grad) {
    const Sample& sample = ctc.samples[static_cast<size_t>(n)];
    Variables variables(sample, -1);
    ClassTotals totals(sample, ctc.classes());
    for (int64_t t = sample.steps - 1; t >= 0; --t) {
        const double* row = ctc.row(t, n);
        double* to = grad + (t * ctc.count() + n) * ctc.classes();
        if (loss == -kNever) {
            std::fill_n(to, ctc.classes(), std::nan(""));
            continue;
        }
        const double* beta = t == sample.steps - 1 ? variables.begin(row) : variables.advance(row);
        ctc_kernels().powers(row, 0, ctc.classes(), to);
        totals.subtract(alpha + t * width, beta, row, loss, to);
        for (int64_t c = 0; c < ctc.classes(); ++c) to[c] *= scale;
    }
}

diopiError_t check_states(const Ctc& ctc, const View& alpha) {
    size_t most = 0;
    for (const Sample& sample : ctc.samples) most = std::max(most, sample.states.size());
    const bool fits = alpha.rank() == 3 && alpha.shape[0] == ctc.count() && alpha.shape[1] == ctc.log_probs.shape[0] &&
                      (ctc.count() == 0 || alpha.shape[2] == static_cast<int64_t>(most));
    return fits ? diopiSuccess : wrong_shape(ctc.op, "log_alpha", alpha.shape, "(N, T, 2 S + 1)");
}

diopiError_t check_losses(const Ctc& ctc, std::string_view argument, const View& v, bool is_reduced) {
    return check_shape(ctc.op, argument, v, is_reduced ? ShapeView() : ctc.log_probs.shape.subspan(1, 1));
}

diopiError_t ctc_loss(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                      diopiTensorHandle_t neg_log_likelihood, diopiTensorHandle_t log_alpha,
                      diopiConstTensorHandle_t log_probs, diopiConstTensorHandle_t targets,
                      diopiConstTensorHandle_t input_lengths, diopiConstTensorHandle_t target_lengths, int64_t blank,
                      diopiReduction_t reduction, bool zero_infinity) {
    Staging staging(ctx);
    Ctc ctc{op, reduction, view(log_probs)};
    const bool is_reduced = reduction != ReductionNone;
    diopiError_t error = read_ctc(staging, ctc, targets, input_lengths, target_lengths, blank);
    if (error == diopiSuccess) error = check_losses(ctc, "out", view(out), is_reduced);
    if (error == diopiSuccess) error = check_losses(ctc, "neg_log_likelihood", view(neg_log_likelihood), false);
    if (error == diopiSuccess) error = check_states(ctc, view(log_alpha));
    if (error != diopiSuccess) return error;
    auto *y = staging.out<double>(out), *losses = staging.out<double>(neg_log_likelihood);
    auto* alpha = staging.out<double>(log_alpha);
    if (staging.error() != diopiSuccess) return staging.error();
    const int64_t width = view(log_alpha).shape[2], steps = ctc.log_probs.shape[0];
    parallel_for(ctc.count(), ctc.work(), Loop::transcendental, [&](int64_t first, int64_t last) {
        for (int64_t n = first; n < last; ++n) losses[n] = run_forward(ctc, n, alpha + n * steps * width, width);
    });
    if (is_reduced) y[0] = 0;
    for (int64_t n = 0; n < ctc.count(); ++n) {
        const double loss = zero_infinity && losses[n] == -kNever ? 0 : losses[n];
        if (is_reduced)
            y[0] += loss * ctc.share(n);
        else
            y[n] = loss;
    }
    return staging.finish();
}

diopiError_t ctc_loss_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                               diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t log_probs,
                               diopiConstTensorHandle_t targets, diopiConstTensorHandle_t input_lengths,
                               diopiConstTensorHandle_t target_lengths, diopiConstTensorHandle_t neg_log_likelihood,
                               diopiConstTensorHandle_t log_alpha, int64_t blank, diopiReduction_t reduction,
                               bool zero_infinity) {
    Staging staging(ctx);
    Ctc ctc{op, reduction, view(log_probs)};
    const bool is_reduced = reduction != ReductionNone;
    diopiError_t error = read_ctc(staging, ctc, targets, input_lengths, target_lengths, blank);
    if (error == diopiSuccess) error = check_losses(ctc, "grad_output", view(grad_output), is_reduced);
    if (error == diopiSuccess) error = check_losses(ctc, "neg_log_likelihood", view(neg_log_likelihood), false);
    if (error == diopiSuccess) error = check_states(ctc, view(log_alpha));
    if (error == diopiSuccess) error = check_shape(op, "grad_input", view(grad_input), ctc.log_probs.shape);
    if (error != diopiSuccess) return error;
    const auto *g = staging.in<double>(grad_output), *losses = staging.in<double>(neg_log_likelihood);
    const auto* alpha = staging.in<double>(log_alpha);
    auto* grad = staging.out<double>(grad_input);
    if (staging.error() != diopiSuccess) return staging.error();
    std::fill_n(grad, ctc.log_probs.numel, 0.0);
    const int64_t width = view(log_alpha).shape[2], steps = ctc.log_probs.shape[0];
    parallel_for(ctc.count(), ctc.work(), Loop::transcendental, [&](int64_t first, int64_t last) {
        for (int64_t n = first; n < last; ++n) {
            if (zero_infinity && losses[n] == -kNever) continue;
            const double scale = g[is_reduced ? 0 : n] * ctc.share(n);
            run_backward(ctc, n, alpha + n * steps * width, width, losses[n], scale, grad);
        }
    });
    return staging.finish();
}

}  // namespace

#include "kernels/entries/loss_ctc.inc"

}  // namespace diopi::cpu
