/// nll_loss and cross_entropy. Sums over samples are formed in double and rounded once.
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/cpu/activation_softmax.hpp"
#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/loss.hpp"

namespace diopi::cpu {

namespace {

/// A loss on dense operands. Input (C) or (N, C, ...) is read as (N, C, positions); a sample is one pair of N and
/// position.
struct DenseLoss : Loss {
    SoftmaxShape shape;

    explicit DenseLoss(const Loss& loss) : Loss(loss) {
        const size_t dim = class_dim();
        shape = {dim == 0 ? 1 : input.shape[0], classes(), numel(input.shape.subspan(dim + 1))};
    }
    /// The place of class 0 of sample `i` in the dense input; classes are shape.inner apart.
    [[nodiscard]] int64_t first_class(int64_t i) const {
        if (shape.inner == 1) return i * shape.size;
        return i / shape.inner * shape.size * shape.inner + i % shape.inner;
    }
};

diopiError_t out_of_range(const DenseLoss& loss, int64_t target) {
    return refuse(loss.op, "target holds class " + std::to_string(target) + ", wanted 0 to " +
                               std::to_string(loss.classes() - 1) + " or the ignore_index " +
                               std::to_string(loss.ignore_index));
}

/// The sum of the weights of the targets that count; an error for a class that does not exist.
diopiError_t total_weight(const DenseLoss& loss, const int64_t* target, const double* weight, double& total) {
    total = 0;
    const int64_t samples = loss.samples(), classes = loss.classes();
    if (weight == nullptr) {
        int64_t counted = 0, outside = 0;
        for (int64_t i = 0; i < samples; ++i) {
            const bool counts = target[i] != loss.ignore_index;
            counted += counts ? 1 : 0;
            outside |= (counts & (static_cast<uint64_t>(target[i]) >= static_cast<uint64_t>(classes))) ? 1 : 0;
        }
        total = static_cast<double>(counted);
        if (outside == 0) return diopiSuccess;
    }
    for (int64_t i = 0; i < samples; ++i) {
        const int64_t t = target[i];
        if (t == loss.ignore_index) continue;
        if (t < 0 || t >= classes) return out_of_range(loss, t);
        total += weight == nullptr ? 1 : weight[t];
    }
    return diopiSuccess;
}

/// Writes the losses of the samples, or their sum times `scale`.
template <class T, class OfSample>
void write_losses(const DenseLoss& loss, T* out, double scale, OfSample&& of_sample) {
    if (loss.reduction == ReductionNone) {
        parallel_for(loss.samples(), 8, [&](int64_t first, int64_t last) {
            for (int64_t i = first; i < last; ++i) out[i] = static_cast<T>(of_sample(i));
        });
        return;
    }
    // Four sums, so that an addition does not wait for the one before.
    std::array<double, 4> sums{};
    const int64_t samples = loss.samples(), whole = samples - samples % 4;
    for (int64_t i = 0; i < whole; i += 4) {
        for (int64_t k = 0; k < 4; ++k) sums[static_cast<size_t>(k)] += of_sample(i + k);
    }
    for (int64_t i = whole; i < samples; ++i) sums[0] += of_sample(i);
    out[0] = static_cast<T>(((sums[0] + sums[1]) + (sums[2] + sums[3])) * scale);
}

/// The factor of the losses: 1, or 1 / divisor under ReductionMean. Over no targets 0 * inf gives NaN.
double scale_of(const DenseLoss& loss, double divisor) { return loss.reduction == ReductionMean ? 1 / divisor : 1; }

template <class E, class T>
diopiError_t nll_forward(diopiContextHandle_t ctx, const DenseLoss& loss, diopiTensorHandle_t out,
                         diopiTensorHandle_t total_out) {
    Staging staging(ctx);
    const auto* x = staging.in<E>(loss.input);
    const auto* target = staging.in<int64_t>(loss.target);
    const auto* weight = staging.in<double>(loss.weight);
    auto* y = staging.out<T>(out);
    auto* total_to = staging.out<double>(total_out);
    if (staging.error() != diopiSuccess) return staging.error();
    double total = 0;
    if (const diopiError_t error = total_weight(loss, target, weight, total); error != diopiSuccess) return error;
    write_losses(loss, y, scale_of(loss, total), [&](int64_t i) -> double {
        const int64_t t = target[i];
        if (t == loss.ignore_index) return 0;
        return -(weight == nullptr ? 1 : weight[t]) * to_double(x[loss.first_class(i) + t * loss.shape.inner]);
    });
    if (total_to != nullptr) *total_to = total;
    return staging.finish();
}

/// `saved_total`: the total weight from the forward function; null: it is summed up here.
template <class E>
diopiError_t nll_backward(diopiContextHandle_t ctx, const DenseLoss& loss, diopiTensorHandle_t grad_input,
                          diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t saved_total) {
    Staging staging(ctx);
    const auto* g = staging.in<double>(grad_output);
    const auto* target = staging.in<int64_t>(loss.target);
    const auto* weight = staging.in<double>(loss.weight);
    const auto* saved = staging.in<double>(saved_total);
    auto* grad = staging.out<E>(grad_input);
    if (staging.error() != diopiSuccess) return staging.error();
    double total = 0;
    if (const diopiError_t error = total_weight(loss, target, weight, total); error != diopiSuccess) return error;
    const double scale = scale_of(loss, saved != nullptr ? *saved : total);
    const int64_t samples = loss.samples();
    // To round a number to a half type takes long, and without weights it is the same one for all samples.
    const bool is_one = weight == nullptr && loss.reduction != ReductionNone;
    const E one = rounded<E>(-g[0] * scale);
    const auto clear = [=](int64_t first, int64_t last) {
        std::memset(static_cast<void*>(grad + first), 0, static_cast<size_t>(last - first) * sizeof(E));
    };
    const auto write = [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
            const int64_t t = target[i];
            if (t == loss.ignore_index) continue;
            E& element = grad[loss.first_class(i) + t * loss.shape.inner];
            const double factor = g[loss.reduction == ReductionNone ? i : 0] * scale;
            element = is_one ? one : rounded<E>(-(weight == nullptr ? 1 : weight[t]) * factor);
        }
    };
    if (loss.shape.inner == 1) {
        const int64_t classes = loss.shape.size;
        parallel_for(samples, classes, Loop::copy, [&](int64_t first, int64_t last) {
            clear(first * classes, last * classes);
            write(first, last);
        });
    } else {
        parallel_for(loss.shape.numel(), 1, Loop::copy, clear);
        parallel_for(samples, 1, Loop::scattered, write);
    }
    return staging.finish();
}

/// Whether each target is one class, and no part of its weight is spread over the others.
bool has_one_class(const DenseLoss& loss) { return !loss.has_probabilities() && loss.smoothing == 0; }

/// The cross entropy of samples with one class each: log(sum(exp(x))) - x[target], without a softmax in memory.
template <class E, class T>
diopiError_t one_class_forward(diopiContextHandle_t ctx, const DenseLoss& loss, diopiTensorHandle_t out) {
    Staging staging(ctx);
    const auto* x = staging.in<E>(loss.input);
    const auto* target = staging.in<int64_t>(loss.target);
    const auto* weight = staging.in<double>(loss.weight);
    auto* losses = staging.buffer<double>(loss.samples());
    auto* y = staging.out<T>(out);
    if (staging.error() != diopiSuccess) return staging.error();
    double total = 0;
    if (const diopiError_t error = total_weight(loss, target, weight, total); error != diopiSuccess) return error;
    const SoftmaxKernels<E>& kernels = softmax_kernels<E>();
    const SoftmaxShape& s = loss.shape;
    const auto set_loss = [&](int64_t i, const PowerSum& powers) {
        const int64_t t = target[i];
        losses[i] = 0;
        if (t == loss.ignore_index) return;
        const double picked = to_double(x[loss.first_class(i) + t * s.inner]) - powers.base;
        losses[i] = (weight == nullptr ? 1 : weight[t]) * (std::log(powers.sum) - picked);
    };
    if (s.inner == 1) {
        for_each_row(s, [&](int64_t row) { set_loss(row, kernels.sum_row(x + row * s.size, s.size)); });
    } else {
        for_each_block(s, [&](int64_t outer, int64_t column, int64_t columns) {
            PowerSums powers;
            kernels.sum_columns(x + outer * s.size * s.inner + column, s.size, s.inner, columns, powers);
            for (int64_t j = 0; j < columns; ++j) {
                set_loss(outer * s.inner + column + j, {powers.base[j], powers.sum[j]});
            }
        });
    }
    write_losses(loss, y, scale_of(loss, total), [=](int64_t i) { return losses[i]; });
    return staging.finish();
}

/// The gradient of samples with one class each: (softmax(x) - [class is the target]) * factor.
template <class E>
class OneClassGradient {
 public:
    OneClassGradient(const DenseLoss& loss, const E* x, const int64_t* target, const double* weight, const double* g,
                     double scale, E* grad)
        : loss_(loss), x_(x), target_(target), weight_(weight), g_(g), scale_(scale), grad_(grad) {}

    void row(int64_t i) const {
        const int64_t size = loss_.shape.size, t = target_[i];
        E* grad = grad_ + i * size;
        if (t == loss_.ignore_index) {
            std::fill_n(grad, size, E{});
            return;
        }
        const double picked = to_double(x_[i * size + t]), factor = factor_of(i);
        const PowerSum powers = softmax_kernels<E>().row(x_ + i * size, grad, size, factor);
        grad[t] = at_target(picked, powers, factor);
    }

    void block(int64_t outer, int64_t column, int64_t columns) const {
        const SoftmaxShape& s = loss_.shape;
        const SoftmaxKernels<E>& kernels = softmax_kernels<E>();
        const int64_t first = outer * s.size * s.inner + column, sample = outer * s.inner + column;
        PowerSums powers;
        double factors[kSoftmaxColumns], picked[kSoftmaxColumns];
        for (int64_t j = 0; j < columns; ++j) {
            factors[j] = factor_of(sample + j);
            picked[j] = is_ignored(sample + j) ? 0 : to_double(x_[first + j + target_[sample + j] * s.inner]);
        }
        kernels.sum_columns(x_ + first, s.size, s.inner, columns, powers);
        kernels.columns(x_ + first, grad_ + first, s.size, s.inner, columns, powers, factors);
        for (int64_t j = 0; j < columns; ++j) {
            E* grad = grad_ + first + j;
            if (!is_ignored(sample + j)) {
                grad[target_[sample + j] * s.inner] = at_target(picked[j], {powers.base[j], powers.sum[j]}, factors[j]);
                continue;
            }
            for (int64_t k = 0; k < s.size; ++k) grad[k * s.inner] = E{};
        }
    }

 private:
    [[nodiscard]] bool is_ignored(int64_t i) const { return target_[i] == loss_.ignore_index; }
    [[nodiscard]] double factor_of(int64_t i) const {
        if (is_ignored(i)) return 0;
        const double weight = weight_ == nullptr ? 1 : weight_[target_[i]];
        return weight * g_[loss_.reduction == ReductionNone ? i : 0] * scale_;
    }
    [[nodiscard]] static E at_target(double picked, const PowerSum& powers, double factor) {
        return rounded<E>((std::exp(picked - powers.base) / powers.sum - 1) * factor);
    }

    const DenseLoss& loss_;
    const E* x_;
    const int64_t* target_;
    const double* weight_;
    const double* g_;
    double scale_;
    E* grad_;
};

template <class E>
diopiError_t one_class_backward(diopiContextHandle_t ctx, const DenseLoss& loss, diopiTensorHandle_t grad_input,
                                diopiConstTensorHandle_t grad_output) {
    Staging staging(ctx);
    const auto* x = staging.in<E>(loss.input);
    const auto* target = staging.in<int64_t>(loss.target);
    const auto* weight = staging.in<double>(loss.weight);
    const auto* g = staging.in<double>(grad_output);
    auto* grad = staging.out<E>(grad_input);
    if (staging.error() != diopiSuccess) return staging.error();
    double total = 0;
    if (const diopiError_t error = total_weight(loss, target, weight, total); error != diopiSuccess) return error;
    const OneClassGradient<E> gradient(loss, x, target, weight, g, scale_of(loss, total), grad);
    if (loss.shape.inner == 1)
        for_each_row(loss.shape, [&](int64_t i) { gradient.row(i); });
    else
        for_each_block(loss.shape,
                       [&](int64_t outer, int64_t column, int64_t columns) { gradient.block(outer, column, columns); });
    return staging.finish();
}

/// Calls body(sample, element, class) for every element, the classes of a sample in order.
template <class Body>
void for_each_class(const DenseLoss& loss, int64_t sample, Body&& body) {
    const int64_t first = loss.first_class(sample);
    for (int64_t c = 0; c < loss.classes(); ++c) body(first + c * loss.shape.inner, c);
}

/// The operands of a cross entropy in compute form.
template <class T>
struct Entropy {
    const T* input = nullptr;
    const int64_t* target = nullptr;
    const T* probabilities = nullptr;
    /// Whether the target is probabilities: without elements their pointer is null, too.
    bool has_probabilities = false;
    const double* weight = nullptr;
    /// The divisor of the mean.
    double divisor = 0;

    [[nodiscard]] double weight_of(int64_t c) const { return weight == nullptr ? 1 : weight[c]; }
};

template <class T>
diopiError_t read_entropy(Staging& staging, const DenseLoss& loss, Entropy<T>& e) {
    e.input = staging.in<T>(loss.input);
    e.weight = staging.in<double>(loss.weight);
    if (loss.has_probabilities()) {
        e.has_probabilities = true;
        e.probabilities = staging.in<T>(loss.target);
        e.divisor = static_cast<double>(loss.samples());
        return staging.error();
    }
    e.target = staging.in<int64_t>(loss.target);
    if (staging.error() != diopiSuccess) return staging.error();
    return total_weight(loss, e.target, e.weight, e.divisor);
}

/// The share that the target gives to the class at `at`: smoothing spreads a part over all classes.
template <class T>
double share(const DenseLoss& loss, const Entropy<T>& e, int64_t at) {
    return static_cast<double>(e.probabilities[at]) * (1 - loss.smoothing) +
           loss.smoothing / static_cast<double>(loss.classes());
}

template <class T>
diopiError_t entropy_forward(diopiContextHandle_t ctx, const DenseLoss& loss, diopiTensorHandle_t out) {
    Staging staging(ctx);
    Entropy<T> e;
    if (const diopiError_t error = read_entropy(staging, loss, e); error != diopiSuccess) return error;
    auto* logs = staging.buffer<T>(loss.shape.numel());
    auto* y = staging.out<T>(out);
    if (staging.error() != diopiSuccess) return staging.error();
    softmax(loss.shape, e.input, logs, true);
    if (loss.has_probabilities() && loss.reduction == ReductionMean && loss.shape.numel() == 0) {
        y[0] = std::numeric_limits<T>::quiet_NaN();
        return staging.finish();
    }
    write_losses(loss, y, scale_of(loss, e.divisor), [&](int64_t i) -> double {
        double sum = 0;
        if (e.has_probabilities) {
            for_each_class(loss, i, [&](int64_t at, int64_t c) {
                sum -= static_cast<double>(logs[at]) * share(loss, e, at) * e.weight_of(c);
            });
            return sum;
        }
        const int64_t t = e.target[i];
        if (t == loss.ignore_index) return 0;
        if (loss.smoothing > 0) {
            for_each_class(loss, i,
                           [&](int64_t at, int64_t c) { sum -= static_cast<double>(logs[at]) * e.weight_of(c); });
            sum *= loss.smoothing / static_cast<double>(loss.classes());
        }
        const auto picked = static_cast<double>(logs[loss.first_class(i) + t * loss.shape.inner]);
        return sum - (1 - loss.smoothing) * e.weight_of(t) * picked;
    });
    return staging.finish();
}

/// With p = softmax(input) and q[c] = weight[c] * (share of class c in the target): grad = p * sum(q) - q, times
/// grad_output and the scale of the reduction.
template <class T>
void entropy_gradient(const DenseLoss& loss, const Entropy<T>& e, const double* g, double scale, T* grad) {
    double all_weights = 0;
    for (int64_t c = 0; c < loss.classes(); ++c) all_weights += e.weight_of(c);
    const double spread = loss.smoothing / static_cast<double>(loss.classes()), rest = 1 - loss.smoothing;
    parallel_for(loss.samples(), loss.classes(), [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
            const double factor = g[loss.reduction == ReductionNone ? i : 0] * scale;
            if (e.has_probabilities) {
                double sum = 0;
                for_each_class(loss, i, [&](int64_t at, int64_t c) { sum += e.weight_of(c) * share(loss, e, at); });
                for_each_class(loss, i, [&](int64_t at, int64_t c) {
                    const double q = e.weight_of(c) * share(loss, e, at);
                    grad[at] = static_cast<T>((static_cast<double>(grad[at]) * sum - q) * factor);
                });
                continue;
            }
            const int64_t t = e.target[i];
            if (t == loss.ignore_index) {
                for_each_class(loss, i, [&](int64_t at, int64_t) { grad[at] = 0; });
                continue;
            }
            const double sum = rest * e.weight_of(t) + spread * all_weights;
            for_each_class(loss, i, [&](int64_t at, int64_t c) {
                const double q = spread * e.weight_of(c) + (c == t ? rest * e.weight_of(t) : 0);
                grad[at] = static_cast<T>((static_cast<double>(grad[at]) * sum - q) * factor);
            });
        }
    });
}

template <class T>
diopiError_t entropy_backward(diopiContextHandle_t ctx, const DenseLoss& loss, diopiTensorHandle_t grad_input,
                              diopiConstTensorHandle_t grad_output) {
    Staging staging(ctx);
    Entropy<T> e;
    if (const diopiError_t error = read_entropy(staging, loss, e); error != diopiSuccess) return error;
    const auto* g = staging.in<double>(grad_output);
    auto* grad = staging.out<T>(grad_input);
    if (staging.error() != diopiSuccess) return staging.error();
    softmax(loss.shape, e.input, grad, false);
    entropy_gradient(loss, e, g, scale_of(loss, e.divisor), grad);
    return staging.finish();
}

diopiError_t nll_loss(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out, diopiTensorHandle_t total,
                      diopiConstTensorHandle_t input, diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                      diopiReduction_t reduction, int64_t ignore_index) {
    Loss loss{op, view(input), view(target), weight, reduction, ignore_index};
    if (const diopiError_t error = read_loss(loss); error != diopiSuccess) return error;
    if (const diopiError_t error = check_reduced(loss, "out", view(out)); error != diopiSuccess) return error;
    return with_elements({loss.input.dtype},
                         [&]<class E, class T>() { return nll_forward<E, T>(ctx, DenseLoss(loss), out, total); });
}

diopiError_t nll_loss_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                               diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                               diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                               diopiConstTensorHandle_t total, diopiReduction_t reduction, int64_t ignore_index) {
    Loss loss{op, view(input), view(target), weight, reduction, ignore_index};
    const diopiError_t error = read_gradient(loss, view(grad_input), view(grad_output));
    if (error != diopiSuccess || loss.input.numel == 0) return error;
    return with_elements({loss.input.dtype, view(grad_input).dtype}, [&]<class E, class>() {
        return nll_backward<E>(ctx, DenseLoss(loss), grad_input, grad_output, total);
    });
}

diopiError_t cross_entropy(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
                           diopiConstTensorHandle_t weight, diopiReduction_t reduction, int64_t ignore_index,
                           double label_smoothing) {
    Loss loss{op, view(input), view(target), weight, reduction, ignore_index, true, label_smoothing};
    if (const diopiError_t error = read_loss(loss); error != diopiSuccess) return error;
    if (const diopiError_t error = check_reduced(loss, "out", view(out)); error != diopiSuccess) return error;
    const DenseLoss dense(loss);
    if (has_one_class(dense)) {
        return with_elements({loss.input.dtype},
                             [&]<class E, class T>() { return one_class_forward<E, T>(ctx, dense, out); });
    }
    return (loss.input.dtype == Dtype::float64 ? entropy_forward<double> : entropy_forward<float>)(ctx, dense, out);
}

diopiError_t cross_entropy_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                                    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                    diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                                    diopiReduction_t reduction, int64_t ignore_index, double label_smoothing) {
    Loss loss{op, view(input), view(target), weight, reduction, ignore_index, true, label_smoothing};
    const diopiError_t error = read_gradient(loss, view(grad_input), view(grad_output));
    if (error != diopiSuccess || loss.input.numel == 0) return error;
    const DenseLoss dense(loss);
    if (has_one_class(dense)) {
        return with_elements({loss.input.dtype, view(grad_input).dtype}, [&]<class E, class>() {
            return one_class_backward<E>(ctx, dense, grad_input, grad_output);
        });
    }
    const auto run = loss.input.dtype == Dtype::float64 ? entropy_backward<double> : entropy_backward<float>;
    return run(ctx, dense, grad_input, grad_output);
}

}  // namespace

#include "kernels/entries/loss.inc"

}  // namespace diopi::cpu
