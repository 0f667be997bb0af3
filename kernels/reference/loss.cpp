/// Losses over class numbers and class probabilities. Tensors are read as (N, C, S): dimension 1 is the classes (in
/// a 1-dim input dimension 0, with N = S = 1), the dimensions after it are positions.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/activation_softmax.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/sum.hpp"

namespace diopi::reference {

namespace {

struct Classes {
    int64_t samples = 1, classes = 0, positions = 1;
    /// The shape of the input without its classes.
    Shape target_shape;

    explicit Classes(ShapeView input) {
        if (input.empty()) refuse("input has shape (), wanted (C), (N, C) or (N, C, d1, ...)");
        const size_t dim = input.size() == 1 ? 0 : 1;
        samples = numel(input.first(dim));
        classes = input[dim];
        positions = numel(input.subspan(dim + 1));
        target_shape.assign(input.begin(), input.end());
        target_shape.erase(target_shape.begin() + static_cast<std::ptrdiff_t>(dim));
    }

    [[nodiscard]] int64_t targets() const { return samples * positions; }
    /// The offset of class 0 for a target; classes are `positions` apart.
    [[nodiscard]] int64_t column(int64_t target) const {
        return target / positions * classes * positions + target % positions;
    }
};

/// Weights of the classes, 1 where there are none.
template <class T>
class ClassWeights {
 public:
    ClassWeights(diopiConstTensorHandle_t weight, const Classes& at) : weight_(weight, "weight?") {
        const int64_t wanted[] = {at.classes};
        if (weight_) require_shape("weight", weight_.shape(), wanted);
    }
    T operator[](int64_t c) const { return weight_ ? weight_[c] : T(1); }

 private:
    Operand<T> weight_;
};

/// Class numbers that are checked once: each is ignore_index or a class.
class Targets {
 public:
    Targets(diopiConstTensorHandle_t target, const Classes& at, int64_t ignore_index)
        : target_(target, "target"), ignore_index_(ignore_index) {
        if (const Dtype dtype = view_of(target).dtype; !is_integer(dtype)) {
            refuse_dtype("target", dtype, "an integer dtype; class probabilities have the shape of input");
        }
        require_shape("target", target_.shape(), at.target_shape);
        for (int64_t i = 0; i < target_.numel(); ++i) {
            if (is_used(i) && (target_[i] < 0 || target_[i] >= at.classes)) {
                refuse("target holds " + std::to_string(target_[i]) + ", wanted a class below " +
                       std::to_string(at.classes) + " or ignore_index " + std::to_string(ignore_index));
            }
        }
    }
    [[nodiscard]] bool is_used(int64_t i) const { return target_[i] != ignore_index_; }
    int64_t operator[](int64_t i) const { return target_[i]; }

    /// Sum of the weights of the targets in use.
    template <class T>
    [[nodiscard]] T total_weight(const ClassWeights<T>& weights) const {
        return pairwise_sum<T>(target_.numel(), [&](int64_t i) { return is_used(i) ? weights[target_[i]] : T(0); });
    }

 private:
    Operand<int64_t> target_;
    int64_t ignore_index_;
};

void require_reduction(diopiReduction_t reduction) {
    if (reduction == ReductionNone || reduction == ReductionMean || reduction == ReductionSum) return;
    refuse("reduction is " + std::to_string(reduction) + ", wanted none, mean or sum");
}

/// out = loss(i) for each target, or their sum, or sum / divisor. A mean over nothing is 0 / 0 = NaN.
template <class T, class Loss>
void reduce(Output<T>& y, const Classes& at, diopiReduction_t reduction, const T& divisor, const Loss& loss) {
    require_reduction(reduction);
    if (reduction == ReductionNone) {
        require_shape("out", y.shape(), at.target_shape);
        for (int64_t i = 0; i < at.targets(); ++i) y[i] = loss(i);
        return;
    }
    require_shape("out", y.shape(), {});
    const T sum = pairwise_sum<T>(at.targets(), loss);
    y[0] = reduction == ReductionMean ? sum / divisor : sum;
}

/// The gradient of the loss of each target.
template <class T>
class GradScale {
 public:
    GradScale(diopiConstTensorHandle_t grad_output, const Classes& at, diopiReduction_t reduction, const T& divisor)
        : grad_(grad_output, "grad_output"), each_(reduction == ReductionNone) {
        require_reduction(reduction);
        require_shape("grad_output", grad_.shape(), each_ ? ShapeView(at.target_shape) : ShapeView());
        if (!each_) all_ = reduction == ReductionMean ? grad_[0] / divisor : grad_[0];
    }
    T operator[](int64_t i) const { return each_ ? grad_[i] : all_; }

 private:
    Operand<T> grad_;
    bool each_;
    T all_ = 0.0;
};

/// loss = -weight[t] * input[t], 0 at ignore_index; mean: divided by the total weight.
diopiError_t nll_loss(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                      diopiTensorHandle_t total_weight, diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
                      diopiConstTensorHandle_t weight, diopiReduction_t reduction, int64_t ignore_index) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> x(input, "input");
        Output<T> y(out, "out");
        Output<T> total(total_weight, "totalWeight?");
        const Classes at(x.shape());
        const ClassWeights<T> weights(weight, at);
        const Targets targets(target, at, ignore_index);
        const T sum_weights = targets.total_weight(weights);
        reduce(y, at, reduction, sum_weights, [&](int64_t i) {
            if (!targets.is_used(i)) return T(0);
            return -weights[targets[i]] * x[at.column(i) + targets[i] * at.positions];
        });
        if (total) {
            require_shape("totalWeight", total.shape(), {});
            total[0] = reduction == ReductionNone ? T(0) : sum_weights;
        }
        y.store();
        total.store();
    });
}

/// grad_input = -weight[t] * grad_output at the target, divided by the total weight under mean; 0 elsewhere. The total
/// weight is the given one, or (null) computed anew.
diopiError_t nll_loss_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                               diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                               diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                               diopiConstTensorHandle_t total_weight, diopiReduction_t reduction,
                               int64_t ignore_index) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const View x = view_of(input);
        const Operand<T> total(total_weight, "totalWeight?");
        Output<T> gx(grad_input, "grad_input", Output<T>::Start::kZero);
        require_shape("grad_input", gx.shape(), x.shape);
        if (total) require_shape("totalWeight", total.shape(), {});
        const Classes at(x.shape);
        const ClassWeights<T> weights(weight, at);
        const Targets targets(target, at, ignore_index);
        const GradScale<T> scale(grad_output, at, reduction, total ? total[0] : targets.total_weight(weights));
        for (int64_t i = 0; i < at.targets(); ++i) {
            if (!targets.is_used(i)) continue;
            gx[at.column(i) + targets[i] * at.positions] = -weights[targets[i]] * scale[i];
        }
        gx.store();
    });
}

/// Cross entropy of every kind is -sum over c of q_c * log softmax(input)_c for each target. Its coefficients q are,
/// for class t: q_t = (1 - s) * w_t, plus s/C * w_c for every class, all 0 at ignore_index, with s =
/// max(label_smoothing, 0); for probabilities p: q_c = w_c * ((1 - s) * p_c + s/C). A mean divides by the sum of w_t in
/// use; with probabilities by the number of targets.
template <class T>
class Coefficients {
 public:
    Coefficients(ShapeView input, const Classes& at, diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                 int64_t ignore_index, double label_smoothing)
        : at_(at), weights_(weight, at), smoothing_(std::max(label_smoothing, 0.0)) {
        if (smoothing_ > 1.0) refuse("label_smoothing is " + std::to_string(label_smoothing) + ", wanted at most 1");
        if (same_shape(view_of(target).shape, input)) {
            probabilities_.emplace(target, "target");
            divisor_ = at.classes == 0 || at.targets() == 0 ? 0.0 : static_cast<double>(at.targets());
        } else {
            targets_.emplace(target, at, ignore_index);
            divisor_ = targets_->total_weight(weights_);
        }
    }

    [[nodiscard]] const T& divisor() const { return divisor_; }

    /// Calls visit(class, q) for the classes of target i that count.
    template <class Visit>
    void for_each(int64_t i, const Visit& visit) const {
        const T share = T(smoothing_) / static_cast<double>(at_.classes);
        if (probabilities_) {
            const auto* column = probabilities_->data() + at_.column(i);
            for (int64_t c = 0; c < at_.classes; ++c) {
                const T p = column[c * at_.positions];
                visit(c, weights_[c] * (smoothing_ > 0.0 ? p * (1.0 - smoothing_) + share : p));
            }
            return;
        }
        if (!targets_->is_used(i)) return;
        const int64_t t = (*targets_)[i];
        visit(t, (1.0 - smoothing_) * weights_[t]);
        for (int64_t c = 0; smoothing_ > 0.0 && c < at_.classes; ++c) visit(c, share * weights_[c]);
    }

 private:
    const Classes& at_;
    ClassWeights<T> weights_;
    double smoothing_;
    std::optional<Operand<T>> probabilities_;
    std::optional<Targets> targets_;
    T divisor_ = 0.0;
};

template <class T>
std::unique_ptr<T[]> log_probabilities(const Context& ctx, const Operand<T>& x, const Classes& at) {
    auto values = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(x.numel()));
    log_softmax(x.data(), values.get(), at.samples, at.classes, at.positions, Exponentials(ctx));
    return values;
}

/// loss = -sum of q_c * log softmax(input)_c, see Coefficients. Empty: sum 0, mean NaN.
diopiError_t cross_entropy(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
                           diopiConstTensorHandle_t weight, diopiReduction_t reduction, int64_t ignore_index,
                           double label_smoothing) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> x(input, "input");
        Output<T> y(out, "out");
        const Classes at(x.shape());
        const Coefficients<T> coefficients(x.shape(), at, target, weight, ignore_index, label_smoothing);
        const auto log_p = log_probabilities(*ctx, x, at);
        reduce(y, at, reduction, coefficients.divisor(), [&](int64_t i) {
            const T* column = log_p.get() + at.column(i);
            Sum<T> loss;
            coefficients.for_each(i, [&](int64_t c, T q) { loss += -q * column[c * at.positions]; });
            return loss.value();
        });
        y.store();
    });
}

/// grad_input_c = (softmax(input)_c * sum(q) - q_c) * g, with g grad_output scaled as the reduction was.
diopiError_t cross_entropy_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                                    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                    diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                                    diopiReduction_t reduction, int64_t ignore_index, double label_smoothing) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> x(input, "input");
        Output<T> gx(grad_input, "grad_input", Output<T>::Start::kZero);
        require_shape("grad_input", gx.shape(), x.shape());
        const Classes at(x.shape());
        const Coefficients<T> coefficients(x.shape(), at, target, weight, ignore_index, label_smoothing);
        const GradScale<T> scale(grad_output, at, reduction, coefficients.divisor());
        const auto log_p = log_probabilities(*ctx, x, at);
        for (int64_t i = 0; i < at.targets(); ++i) {
            const int64_t first = at.column(i);
            using std::exp;
            Sum<T> sum;
            bool used = false;
            coefficients.for_each(i, [&](int64_t c, T q) {
                gx[first + c * at.positions] -= q * scale[i];
                sum += q;
                used = true;
            });
            for (int64_t c = 0; used && c < at.classes; ++c) {
                const int64_t e = first + c * at.positions;
                gx[e] += exp(log_p[static_cast<size_t>(e)]) * sum.value() * scale[i];
            }
        }
        gx.store();
    });
}

}  // namespace

#include "kernels/entries/loss.inc"

}  // namespace diopi::reference
